#include "io/data/sample_order.hpp"

#include "zero/base/error.hpp"
#include "zero/base/philox.hpp"

namespace zero {
namespace {

constexpr uint64_t kStream = 0x4F52444552ull << 16;  // keeps these numbers apart from other uses
constexpr uint32_t kRounds = 6;

}  // namespace

SampleOrder::SampleOrder(uint64_t seed, int64_t samples) : key_(seed ^ kStream), samples_(samples) {
  ZERO_REQUIRE(samples >= 1 && samples <= int64_t(1) << 60, "an order of ", samples, " samples");
  while ((int64_t(1) << (2 * half_bits_)) < samples) ++half_bits_;
}

uint64_t SampleOrder::permute(uint64_t value, uint64_t epoch) const {
  const uint32_t mask = uint32_t((uint64_t(1) << half_bits_) - 1);
  uint32_t left = uint32_t(value >> half_bits_), right = uint32_t(value) & mask;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const PhiloxBlock mixed =
        philox({{right, round, uint32_t(epoch), uint32_t(epoch >> 32)}}, key_);
    const uint32_t next = (left ^ mixed.word[0]) & mask;
    left = right;
    right = next;
  }
  return uint64_t(left) << half_bits_ | right;
}

int64_t SampleOrder::sample(int64_t consumed) const {
  ZERO_REQUIRE(consumed >= 0, "sample at position ", consumed);
  const uint64_t epoch = uint64_t(consumed / samples_);
  uint64_t value = uint64_t(consumed % samples_);
  // The walk follows a cycle of the permutation from a value inside, so it comes back inside.
  do {
    value = permute(value, epoch);
  } while (value >= uint64_t(samples_));
  return int64_t(value);
}

}  // namespace zero
