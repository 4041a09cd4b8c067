#include "io/data/mixed_samples.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

using Part = MixedSamples::Part;
using Order = std::function<int64_t(int64_t)>;

int64_t samples_of(const std::vector<Part>& parts) {
  int64_t samples = 0;
  for (const Part& part : parts) samples += part.samples->samples();
  return samples;
}

std::vector<int64_t> begins_of(const std::vector<Part>& parts) {
  std::vector<int64_t> begins = {0};
  for (const Part& part : parts) begins.push_back(begins.back() + part.samples->samples());
  return begins;
}

Order order_of(const std::vector<Part>& parts, std::optional<uint64_t> seed) {
  if (!seed) return [](int64_t position) { return position; };
  if (parts.front().weight == 0) {
    return [order = SampleOrder(*seed, samples_of(parts))](int64_t position) {
      return order.sample(position);
    };
  }
  std::vector<Mixture::Part> shares;
  std::vector<int64_t> begins = {0};
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == 0 || parts[i].group != parts[i - 1].group) {
      shares.push_back({.samples = 0, .weight = parts[i].weight});
      begins.push_back(begins.back());
    }
    shares.back().samples += parts[i].samples->samples();
    begins.back() += parts[i].samples->samples();
  }
  return [mixture = Mixture(shares, *seed), begins](int64_t position) {
    const Mixture::Place place = mixture.at(position);
    return begins[place.part] + place.sample;
  };
}

}  // namespace

MixedSamples::MixedSamples(std::vector<Part> parts, std::optional<uint64_t> seed)
    : Dataset(parts.front().samples->columns(), samples_of(parts), order_of(parts, seed)),
      parts_(std::move(parts)),
      begins_(begins_of(parts_)) {
  for (const Part& part : parts_)
    ZERO_REQUIRE(part.samples->columns() == columns(), "parts of other columns");
}

/// A sample behind the end is one behind that of the last part.
MixedSamples::Sample MixedSamples::sample_of(int64_t sample) const {
  const auto behind = std::upper_bound(begins_.begin() + 1, begins_.end() - 1, sample);
  const size_t part = size_t(behind - begins_.begin()) - 1;
  return {*parts_[part].samples, sample - begins_[part]};
}

std::vector<ShownIds> MixedSamples::shown(int64_t position) const {
  const Sample sample = sample_of(sample_at(position));
  return sample.of.shown(sample.position);
}

void MixedSamples::read_sample(int64_t sample, ColumnSpans out) const {
  const Sample one = sample_of(sample);
  one.of.read(one.position, out);
}

int64_t MixedSamples::counted_in(int64_t sample) const {
  const Sample one = sample_of(sample);
  return one.of.counted(one.position, 1);
}

JoinedSource::JoinedSource(std::vector<std::unique_ptr<DataSource>> sources, uint64_t salt)
    : sources_(std::move(sources)), salt_(salt) {}

std::string JoinedSource::format() const {
  return text(sources_.size(), " files, the first ", sources_.front()->format());
}

std::string_view JoinedSource::item() const {
  const std::string_view first = sources_.front()->item();
  const bool is_same =
      std::ranges::all_of(sources_, [&](const auto& source) { return source->item() == first; });
  return is_same ? first : "item";
}

int64_t JoinedSource::items() const {
  int64_t items = 0;
  for (const auto& source : sources_) items += source->items();
  return items;
}

int64_t JoinedSource::vocab_size() const {
  int64_t size = 0;
  for (const auto& source : sources_) size = std::max(size, source->vocab_size());
  return size;
}

/// Multiplying by an odd number keeps every bit, and tells the order of the files.
uint64_t JoinedSource::fingerprint() const {
  uint64_t all = salt_;
  for (const auto& source : sources_) all = (all * 0x9E3779B97F4A7C15u) ^ source->fingerprint();
  return all;
}

}  // namespace zero
