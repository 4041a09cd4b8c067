#pragma once

#include <cstdint>

namespace zero {

/// A random order of samples, with another permutation of 0 .. samples - 1 in each epoch. It is
/// computed and never stored. So any rank finds any sample of any step, and a resumed run needs
/// only the count of consumed samples. Six Feistel rounds keyed by Philox on (seed, epoch) permute
/// the least domain of 4^k >= samples. Results outside are permuted again (Black and Rogaway 2002,
/// "Ciphers with arbitrary finite domains").
class SampleOrder {
 public:
  SampleOrder(uint64_t seed, int64_t samples);

  /// Returns the sample after `consumed` others, in epoch consumed / samples.
  int64_t sample(int64_t consumed) const;

 private:
  uint64_t permute(uint64_t value, uint64_t epoch) const;

  uint64_t key_;
  int64_t samples_;
  int half_bits_ = 1;
};

}  // namespace zero
