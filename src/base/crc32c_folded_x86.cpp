#include <immintrin.h>

#include "src/base/crc32c_x86.hpp"

// Bytes that are followed by others have the remainder that they would have so many bits later:
// their polynomial times that power of x. So 16 bytes are carried over any distance by two products
// of 64 bits and added to the bytes that lie there. Source: Gopal et al., Fast CRC Computation for
// Generic Polynomials Using PCLMULQDQ Instruction (Intel, 2009).

namespace zero {
namespace {

constexpr size_t kRegisterBytes = 64, kRegisters = 4, kTurnBytes = kRegisterBytes * kRegisters;

/// x to the power of `bits`, modulo the polynomial. A product of two numbers whose lowest bit is
/// the highest power is one place short, which this factor makes up for.
constexpr uint64_t power(uint32_t bits) {
  uint32_t rest = 0x80000000u;
  for (uint32_t bit = 0; bit < bits; ++bit) {
    rest = (rest >> 1) ^ (rest & 1 ? kCrc32cPolynomial : 0u);
  }
  return uint64_t(rest) << 1;
}

/// What carries 16 bytes over `bits`: the factor of the first 8, and of the others.
struct Carry {
  uint64_t first, second;
};

constexpr Carry carry_over(uint32_t bits) { return {power(bits + 32), power(bits - 32)}; }

constexpr Carry kOverTurn = carry_over(8 * kTurnBytes);
constexpr Carry kOverRegister = carry_over(8 * kRegisterBytes);
constexpr Carry kOverLane = carry_over(8 * 16);

__attribute__((target("avx512f,vpclmulqdq"))) __m512i wide(const Carry& carry) {
  return _mm512_set_epi64(int64_t(carry.second), int64_t(carry.first), int64_t(carry.second),
                          int64_t(carry.first), int64_t(carry.second), int64_t(carry.first),
                          int64_t(carry.second), int64_t(carry.first));
}

__attribute__((target("avx512f,vpclmulqdq"))) __m512i carried(__m512i bytes, __m512i by,
                                                              __m512i onto) {
  constexpr int kXorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(bytes, by, 0x00),
                                   _mm512_clmulepi64_epi128(bytes, by, 0x11), onto, kXorOfThree);
}

__attribute__((target("pclmul,sse2"))) __m128i carried(__m128i bytes, __m128i by, __m128i onto) {
  const __m128i first = _mm_clmulepi64_si128(bytes, by, 0x00);
  return _mm_xor_si128(_mm_xor_si128(first, _mm_clmulepi64_si128(bytes, by, 0x11)), onto);
}

/// The remainder of 64 bytes that nothing precedes.
__attribute__((target("avx512f,pclmul,sse4.2"))) uint32_t rest_of(__m512i bytes) {
  const __m128i by = _mm_set_epi64x(int64_t(kOverLane.second), int64_t(kOverLane.first));
  alignas(kRegisterBytes) __m128i lanes[4];
  _mm512_store_si512(lanes, bytes);
  for (size_t i = 1; i < 4; ++i) lanes[i] = carried(lanes[i - 1], by, lanes[i]);
  const uint64_t half = _mm_crc32_u64(0, uint64_t(_mm_cvtsi128_si64(lanes[3])));
  return uint32_t(_mm_crc32_u64(half, uint64_t(_mm_extract_epi64(lanes[3], 1))));
}

/// The remainder of whole turns, at least one, behind `rest`.
__attribute__((target("avx512f,vpclmulqdq"))) uint32_t rest_of_turns(const std::byte* bytes,
                                                                     size_t turns, uint32_t rest) {
  __m512i part[kRegisters];
  for (size_t r = 0; r < kRegisters; ++r) part[r] = _mm512_loadu_si512(bytes + kRegisterBytes * r);
  // A remainder is added to the bytes that follow it.
  part[0] = _mm512_xor_si512(part[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(int(rest))));
  const __m512i over_turn = wide(kOverTurn), over_register = wide(kOverRegister);
  for (size_t turn = 1; turn < turns; ++turn) {
    const std::byte* next = bytes + turn * kTurnBytes;
    for (size_t r = 0; r < kRegisters; ++r) {
      part[r] = carried(part[r], over_turn, _mm512_loadu_si512(next + kRegisterBytes * r));
    }
  }
  for (size_t r = 1; r < kRegisters; ++r) part[r] = carried(part[r - 1], over_register, part[r]);
  return rest_of(part[kRegisters - 1]);
}

}  // namespace

uint32_t crc32c_folded(std::span<const std::byte> bytes, uint32_t crc) {
  const size_t turns = bytes.size() / kTurnBytes;
  if (turns > 0) crc = ~rest_of_turns(bytes.data(), turns, ~crc);
  return crc32c_sse(bytes.subspan(turns * kTurnBytes), crc);
}

}  // namespace zero
