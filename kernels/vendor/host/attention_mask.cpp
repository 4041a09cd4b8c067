#include <algorithm>

#include "kernels/vendor/host/attention.hpp"

namespace zero::kernels::vendor {

/// Words lie in 64-bit lanes, so that a product is one
/// vector instruction and its halves need no shuffles: twice as fast as 32-bit lanes.
WordLanes dropout_word_lanes(const DropoutStream& stream, uint32_t first, uint32_t stride) {
  constexpr int kLanes = WordLanes::kLanes;
  constexpr uint64_t kLow = 0xffffffffu;
  alignas(64) uint64_t word[4][kLanes];
  for (int l = 0; l < kLanes; ++l) word[0][l] = uint32_t(first + uint32_t(l) * stride);
  std::fill_n(word[1], kLanes, uint64_t(stream.sample) & kLow);
  std::fill_n(word[2], kLanes, uint64_t(stream.sample) >> 32);
  std::fill_n(word[3], kLanes, uint64_t(stream.site));
  uint32_t key0 = uint32_t(stream.seed), key1 = uint32_t(stream.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int l = 0; l < kLanes; ++l) {
      const uint64_t a = word[0][l] * kPhiloxFactor0, b = word[2][l] * kPhiloxFactor1;
      word[0][l] = (b >> 32) ^ word[1][l] ^ key0;
      word[1][l] = b & kLow;
      word[2][l] = (a >> 32) ^ word[3][l] ^ key1;
      word[3][l] = a & kLow;
    }
    key0 += kPhiloxStep0;
    key1 += kPhiloxStep1;
  }
  WordLanes out;
  for (int i = 0; i < 4; ++i)
    for (int l = 0; l < kLanes; ++l) out.word[i][l] = uint32_t(word[i][l]);
  return out;
}

}  // namespace zero::kernels::vendor
