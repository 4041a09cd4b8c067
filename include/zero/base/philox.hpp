#pragma once
/// Counter-based random numbers. A (key, counter) gives equal bits on every rank, back end and
/// schedule, so a mask is recomputed instead of stored.
/// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", Philox 4x32-10.

#include <cstdint>

#include "zero/base/portable.hpp"

namespace zero {

struct PhiloxBlock {
  uint32_t word[4];
};

inline constexpr uint32_t kPhiloxFactor0 = 0xD2511F53u, kPhiloxFactor1 = 0xCD9E8D57u;
/// Increments of the key's two words between rounds.
inline constexpr uint32_t kPhiloxStep0 = 0x9E3779B9u, kPhiloxStep1 = 0xBB67AE85u;

/// Returns a block of 128 random bits after ten rounds. `counter` is the position in the stream
/// that `key` names.
ZERO_HOST_DEVICE constexpr PhiloxBlock philox(PhiloxBlock counter, uint64_t key) {
  uint32_t key0 = uint32_t(key), key1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(kPhiloxFactor0) * counter.word[0];
    const uint64_t b = uint64_t(kPhiloxFactor1) * counter.word[2];
    counter = {{uint32_t(b >> 32) ^ counter.word[1] ^ key0, uint32_t(b),
                uint32_t(a >> 32) ^ counter.word[3] ^ key1, uint32_t(a)}};
    key0 += kPhiloxStep0;
    key1 += kPhiloxStep1;
  }
  return counter;
}

}  // namespace zero
