#include "zero/io/data/data_kind.hpp"

#include <algorithm>
#include <cmath>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {

uint64_t DataSets::fingerprint() const {
  const uint64_t first = train_source->fingerprint();
  if (!validation_source) return first;
  // Multiplying by an odd number keeps every bit of `first`.
  return (first * 0x9E3779B97F4A7C15u) ^ validation_source->fingerprint();
}

std::vector<std::string> in_known_order(const std::vector<std::string>& classes,
                                        const std::vector<std::string>& known) {
  std::vector<std::string> a = classes, b = known;
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b ? known : classes;
}

int64_t limited(int64_t samples, int64_t most) {
  return most > 0 ? std::min(samples, most) : samples;
}

int64_t trained_samples(const DataOptions& options, int64_t samples) {
  const double share = options.data.validation_fraction;
  if (share <= 0) return samples;
  const int64_t held_out = int64_t(std::ceil(share * double(samples)));
  if (held_out >= samples) {
    refuse(Exit::kInput, options.data.train, ": ", counted(samples, "sample"),
           ", of which data.validation_fraction", " = ", share, " holds out ", held_out,
           ", leave none to train on; give more data, or data.validation = FILE");
  }
  return samples - held_out;
}

}  // namespace zero
