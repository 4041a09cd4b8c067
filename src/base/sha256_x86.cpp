#include <cpuid.h>
#include <immintrin.h>

#include "src/base/sha256_blocks.hpp"

namespace zero {
namespace {

/// The state as the instructions want it: words (a, b, e, f) and (c, d, g, h), the last one lowest.
struct Halves {
  __m128i abef, cdgh;
};

[[gnu::target("sha,sse4.1,ssse3")]] inline Halves load(const uint32_t* state) {
  const __m128i dcba = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state));
  const __m128i hgfe = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state + 4));
  const __m128i cdab = _mm_shuffle_epi32(dcba, 0xB1), efgh = _mm_shuffle_epi32(hgfe, 0x1B);
  return {_mm_alignr_epi8(cdab, efgh, 8), _mm_blend_epi16(efgh, cdab, 0xF0)};
}

[[gnu::target("sha,sse4.1,ssse3")]] inline void store(const Halves& halves, uint32_t* state) {
  const __m128i feba = _mm_shuffle_epi32(halves.abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(halves.cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

[[gnu::target("sha,sse4.1,ssse3")]] inline __m128i big_endian_words(const std::byte* bytes) {
  const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)), order);
}

/// Sixteen times four rounds; w[i % 4] holds the four words of the message that group i adds.
[[gnu::target("sha,sse4.1,ssse3")]] inline void add_block(Halves& halves, const std::byte* block) {
  const Halves before = halves;
  __m128i w[4];
  for (int i = 0; i < 4; ++i) w[i] = big_endian_words(block + 16 * i);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    const auto* constants = reinterpret_cast<const __m128i*>(kSha256Round + 4 * i);
    const __m128i words = _mm_add_epi32(w[i % 4], _mm_loadu_si128(constants));
    halves.cdgh = _mm_sha256rnds2_epu32(halves.cdgh, halves.abef, words);
    halves.abef = _mm_sha256rnds2_epu32(halves.abef, halves.cdgh, _mm_shuffle_epi32(words, 0x0E));
    // The words of group i + 4 take the place of those just used.
    const __m128i last = w[(i + 3) % 4], between = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
    const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), between);
    w[i % 4] = _mm_sha256msg2_epu32(sum, last);
  }
  halves.abef = _mm_add_epi32(halves.abef, before.abef);
  halves.cdgh = _mm_add_epi32(halves.cdgh, before.cdgh);
}

[[gnu::target("sha,sse4.1,ssse3")]] void add_blocks(uint32_t* state, const std::byte* blocks,
                                                    size_t count) {
  Halves halves = load(state);
  for (size_t i = 0; i < count; ++i) add_block(halves, blocks + 64 * i);
  store(halves, state);
}

/// Leaf 7, bit 29 of ebx: GCC 12 has no name for it.
bool has_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0;
}

}  // namespace

void add_sha256_blocks(uint32_t* state, const std::byte* blocks, size_t count) {
  static const bool available = has_sha_instructions();
  (available ? add_blocks : add_sha256_blocks_plain)(state, blocks, count);
}

}  // namespace zero
