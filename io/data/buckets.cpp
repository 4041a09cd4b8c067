#include "io/data/buckets.hpp"

#include <algorithm>
#include <limits>

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr int64_t kNothing = std::numeric_limits<int64_t>::max();

int64_t step_of(int64_t longest, int64_t unit) {
  return std::max(unit, round_up(ceil_div(longest, LengthHistogram::kLevels), unit));
}

/// Returns the levels up to a length. Samples without a source have one level of it.
int64_t levels_of(int64_t longest, int64_t step) {
  return std::max<int64_t>(1, ceil_div(longest, step));
}

int64_t level_of(int64_t length, int64_t step) { return std::max<int64_t>(0, length - 1) / step; }

/// The least padded tokens of the samples covered by a place, if its pair is the last, and the
/// place of the pair before.
struct Best {
  int64_t tokens = kNothing;
  int64_t before = -1;
};
using Bests = std::vector<Best>;  // [places]

class Chooser {
 public:
  explicit Chooser(const LengthHistogram& histogram)
      : histogram_(histogram), covered_(histogram.covered()) {}

  Bests first() const {
    Bests bests(covered_.size());
    for (size_t place = 0; place < bests.size(); ++place) {
      bests[place].tokens = covered_[place] * pair(int64_t(place)).tokens();
    }
    return bests;
  }
  /// Returns the best choices with one more pair after those of `shorter`.
  Bests next(const Bests& shorter) const {
    Bests bests(covered_.size());
    for (int64_t i = 0; i < histogram_.sources(); ++i) {
      for (int64_t j = 0; j < histogram_.targets(); ++j) {
        bests[size_t(place_of(i, j))] = best_behind(shorter, i, j);
      }
    }
    return bests;
  }
  LengthPair pair(int64_t place) const {
    return histogram_.at(place / histogram_.targets(), place % histogram_.targets());
  }

 private:
  int64_t place_of(int64_t i, int64_t j) const { return i * histogram_.targets() + j; }

  Best best_behind(const Bests& shorter, int64_t i, int64_t j) const {
    const int64_t place = place_of(i, j), length = pair(place).tokens();
    Best best;
    for (int64_t x = 0; x <= i; ++x) {
      for (int64_t y = 0; y <= j; ++y) {
        const int64_t before = place_of(x, y);
        if (before == place) continue;
        const int64_t more = covered_[size_t(place)] - covered_[size_t(before)];
        const int64_t tokens = shorter[size_t(before)].tokens + more * length;
        if (shorter[size_t(before)].tokens == kNothing || tokens >= best.tokens) continue;
        best = {.tokens = tokens, .before = before};
      }
    }
    return best;
  }

  const LengthHistogram& histogram_;
  std::vector<int64_t> covered_;
};

}  // namespace

LengthHistogram::LengthHistogram(const LengthPair& longest, int64_t unit)
    : longest_(longest),
      source_step_(step_of(longest.source, unit)),
      target_step_(step_of(longest.target, unit)),
      sources_(levels_of(longest.source, source_step_)),
      targets_(levels_of(longest.target, target_step_)),
      counts_(size_t(sources_ * targets_)) {}

void LengthHistogram::add(const LengthPair& sample) {
  const bool has_source = sample.source >= 1 || longest_.source == 0;
  ZERO_REQUIRE(longest_.covers(sample) && has_source && sample.target >= 1, "a sample of ",
               sample.source, " and ", sample.target, " tokens where at most ", longest_.source,
               " and ", longest_.target, " are");
  const int64_t i = level_of(sample.source, source_step_);
  const int64_t j = level_of(sample.target, target_step_);
  ++counts_[size_t(i * targets_ + j)];
  ++samples_;
}

LengthPair LengthHistogram::at(int64_t source, int64_t target) const {
  return {.source = std::min(longest_.source, (source + 1) * source_step_),
          .target = std::min(longest_.target, (target + 1) * target_step_)};
}

std::vector<int64_t> LengthHistogram::covered() const {
  std::vector<int64_t> sums = counts_;
  for (int64_t i = 0; i < sources_; ++i) {
    int64_t row = 0;
    for (int64_t j = 0; j < targets_; ++j) {
      row += counts_[size_t(i * targets_ + j)];
      sums[size_t(i * targets_ + j)] = row + (i > 0 ? sums[size_t((i - 1) * targets_ + j)] : 0);
    }
  }
  return sums;
}

std::vector<LengthPair> choose_form_lengths(const LengthHistogram& histogram, int64_t most) {
  ZERO_REQUIRE(most >= 1, most, " pairs of lengths");
  const Chooser chooser(histogram);
  const size_t all = histogram.covered().size() - 1;
  std::vector<Bests> bests = {chooser.first()};
  size_t fewest = 0;
  for (int64_t pairs = 2; pairs <= most; ++pairs) {
    bests.push_back(chooser.next(bests.back()));
    if (bests.back()[all].tokens < bests[fewest][all].tokens) fewest = bests.size() - 1;
  }
  std::vector<LengthPair> chosen;
  int64_t place = int64_t(all);
  for (size_t i = fewest + 1; i-- > 0; place = bests[i][size_t(place)].before) {
    chosen.push_back(chooser.pair(place));
  }
  std::ranges::reverse(chosen);
  return chosen;
}

int64_t pair_of(std::span<const LengthPair> pairs, const LengthPair& sample) {
  const auto found =
      std::ranges::find_if(pairs, [&](const LengthPair& pair) { return pair.covers(sample); });
  ZERO_REQUIRE(found != pairs.end(), "no pair of lengths covers a sample of ", sample.source,
               " and ", sample.target, " tokens");
  return found - pairs.begin();
}

namespace {

/// Seeds that keep the orders of blocks and of each bucket apart.
constexpr uint64_t kBlocks = 0x424C4F434B530000;
constexpr uint64_t kBucket = 0x4255434B45540000;

}  // namespace

BucketOrder::BucketOrder(std::span<const uint8_t> buckets, int64_t micro,
                         std::optional<uint64_t> seed)
    : micro_(micro), seed_(seed) {
  ZERO_REQUIRE(
      micro >= 1 && !buckets.empty() && buckets.size() <= std::numeric_limits<uint32_t>::max(),
      buckets.size(), " samples in micro-batches of ", micro);
  const int last = *std::ranges::max_element(buckets);
  for (int bucket = 0; bucket <= last; ++bucket) {
    const int64_t first = int64_t(samples_.size());
    for (size_t i = 0; i < buckets.size(); ++i) {
      if (buckets[i] == bucket) samples_.push_back(uint32_t(i));
    }
    const int64_t count = int64_t(samples_.size()) - first;
    if (count == 0) continue;
    buckets_.push_back({.first = first, .samples = count});
    if (seed) buckets_.back().order.emplace(*seed ^ (kBucket + uint64_t(bucket)), count);
  }
}

int64_t BucketOrder::sample(int64_t consumed) const {
  const int64_t samples = int64_t(samples_.size());
  const int64_t epoch = consumed / samples, place = in_epoch(epoch, consumed % samples);
  const auto behind = std::ranges::find_if(
      buckets_, [&](const Bucket& one) { return place < one.first + one.samples; });
  int64_t within = place - behind->first;
  if (behind->order) within = behind->order->sample(epoch * behind->samples + within);
  return samples_[size_t(behind->first + within)];
}

/// Returns the index, in an epoch's joined buckets, of what comes at `place` of the epoch.
int64_t BucketOrder::in_epoch(int64_t epoch, int64_t place) const {
  const int64_t samples = int64_t(samples_.size());
  // An epoch shares micro-batches with its neighbours.
  const int64_t begun = epoch % micro_ * (samples % micro_) % micro_;
  const int64_t head = std::min(samples, (micro_ - begun) % micro_);
  const int64_t tail = (samples - head) % micro_;
  if (place < head) return place;
  if (place >= samples - tail) return head + place - (samples - tail);
  const int64_t blocks = (samples - head) / micro_;
  int64_t block = (place - head) / micro_;
  if (seed_) block = SampleOrder(*seed_ ^ kBlocks, blocks).sample(epoch * blocks + block);
  return head + tail + block * micro_ + (place - head) % micro_;
}

}  // namespace zero
