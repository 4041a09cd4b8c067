#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <algorithm>

#include "kernels/vendor/host/attention.hpp"

namespace zero::kernels::vendor {
namespace {

constexpr int kRounds = 10;

/// A vector of words in 64-bit lanes: a product is one instruction and its halves need no shuffles,
/// twice as fast as 32-bit lanes. The upper halves do not count.
using Wide [[gnu::vector_size(64)]] = uint64_t;
constexpr int kWide = sizeof(Wide) / sizeof(uint64_t), kGroups = WordLanes::kLanes / kWide;

#ifdef __AVX512F__
/// Multiplies lower halves in one instruction. GCC makes three of a product of 64 bits.
inline void multiply(const Wide& word, uint64_t factor, Wide& product) {
  product = Wide(_mm512_maskz_mul_epu32(0xff, __m512i(word), _mm512_set1_epi64(factor)));
}
#else
inline void multiply(const Wide& word, uint64_t factor, Wide& product) {
  product = (word & 0xffffffffu) * factor;
}
#endif

}  // namespace

WordLanes dropout_word_lanes(const DropoutStream& stream, uint32_t first, uint32_t stride) {
  constexpr int kLanes = WordLanes::kLanes;
  alignas(Wide) uint64_t lanes[4][kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[0][l] = uint32_t(first + uint32_t(l) * stride);
  std::fill_n(lanes[1], kLanes, uint64_t(stream.sample));
  std::fill_n(lanes[2], kLanes, uint64_t(stream.sample) >> 32);
  std::fill_n(lanes[3], kLanes, uint64_t(stream.site));
  Wide word[4][kGroups];
  std::memcpy(word, lanes, sizeof word);
  uint32_t key0 = uint32_t(stream.seed), key1 = uint32_t(stream.seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    for (int g = 0; g < kGroups; ++g) {
      Wide a, b;
      multiply(word[0][g], kPhiloxFactor0, a);
      multiply(word[2][g], kPhiloxFactor1, b);
      word[0][g] = (b >> 32) ^ word[1][g] ^ uint64_t(key0);
      word[1][g] = b;
      word[2][g] = (a >> 32) ^ word[3][g] ^ uint64_t(key1);
      word[3][g] = a;
    }
    key0 += kPhiloxStep0;
    key1 += kPhiloxStep1;
  }
  std::memcpy(lanes, word, sizeof lanes);
  WordLanes out;
  for (int i = 0; i < 4; ++i)
    for (int l = 0; l < kLanes; ++l) out.word[i][l] = uint32_t(lanes[i][l]);
  return out;
}

}  // namespace zero::kernels::vendor
