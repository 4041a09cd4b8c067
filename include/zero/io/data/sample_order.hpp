#pragma once

#include <cstdint>

namespace zero {

/// The order in which samples are visited: in each epoch another permutation of 0 .. samples - 1,
/// computed and never stored, so that any rank finds any sample of any step, and a resumed run
/// needs to know only how many samples were consumed. Six Feistel rounds keyed by Philox on (seed,
/// epoch), on the least domain of 4^k >= samples; what falls outside is permuted again (Black and
/// Rogaway 2002, "Ciphers with arbitrary finite domains").
class SampleOrder {
 public:
  SampleOrder(uint64_t seed, int64_t samples);

  /// The sample that comes after `consumed` others: epoch consumed / samples.
  int64_t sample(int64_t consumed) const;

 private:
  uint64_t permute(uint64_t value, uint64_t epoch) const;

  uint64_t key_;
  int64_t samples_;
  int half_bits_ = 1;
};

}  // namespace zero
