#include "io/data/bucket_order.hpp"

#include <algorithm>
#include <limits>

#include "zero/base/error.hpp"

namespace zero {
namespace {

/// Keeps the orders of blocks and of each bucket apart.
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

/// Where in the joined buckets of an epoch stands what comes at `place` of it.
int64_t BucketOrder::in_epoch(int64_t epoch, int64_t place) const {
  const int64_t samples = int64_t(samples_.size());
  // An epoch shares micro-batches with the one before it and the one after it.
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
