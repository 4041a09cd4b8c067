#include "src/base/crc32c_x86.hpp"

#include <nmmintrin.h>

#include <array>
#include <cstring>

#include "src/base/crc32c_ways.hpp"

namespace zero {
namespace {

/// The instruction has a latency of three cycles and could start every cycle, so that three lanes
/// side by side take the time of one.
constexpr size_t kLaneBytes = 1024;
constexpr size_t kLanes = 3;

/// skip[k][b]: what byte b at place k of the remainder has become kLaneBytes of zeros later.
constexpr auto make_skip() {
  std::array<std::array<uint32_t, 256>, 4> skip{};
  for (uint32_t bit = 0; bit < 32; ++bit) {
    uint32_t rest = 1u << bit;
    for (size_t step = 0; step < 8 * kLaneBytes; ++step) {
      rest = (rest >> 1) ^ (rest & 1 ? kCrc32cPolynomial : 0u);
    }
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if ((byte >> (bit % 8)) & 1) skip[bit / 8][byte] ^= rest;
    }
  }
  return skip;
}

constexpr auto kSkip = make_skip();

uint32_t skip_lane(uint64_t rest) {
  return kSkip[0][rest & 0xff] ^ kSkip[1][(rest >> 8) & 0xff] ^ kSkip[2][(rest >> 16) & 0xff] ^
         kSkip[3][(rest >> 24) & 0xff];
}

uint64_t word_at(const std::byte* place) {
  uint64_t word;
  std::memcpy(&word, place, sizeof word);
  return word;
}

/// The remainder after kLanes * kLaneBytes bytes.
__attribute__((target("sse4.2"))) uint32_t three_lanes(const std::byte* bytes, uint32_t rest) {
  uint64_t a = rest, b = 0, c = 0;
  for (size_t i = 0; i < kLaneBytes; i += 8) {
    a = _mm_crc32_u64(a, word_at(bytes + i));
    b = _mm_crc32_u64(b, word_at(bytes + kLaneBytes + i));
    c = _mm_crc32_u64(c, word_at(bytes + 2 * kLaneBytes + i));
  }
  return skip_lane(skip_lane(a) ^ b) ^ uint32_t(c);
}

}  // namespace

__attribute__((target("sse4.2"))) uint32_t crc32c_sse(std::span<const std::byte> bytes,
                                                      uint32_t crc) {
  uint64_t rest = uint32_t(~crc);
  size_t i = 0;
  for (; i + kLanes * kLaneBytes <= bytes.size(); i += kLanes * kLaneBytes) {
    rest = three_lanes(bytes.data() + i, uint32_t(rest));
  }
  for (; i + 8 <= bytes.size(); i += 8) rest = _mm_crc32_u64(rest, word_at(bytes.data() + i));
  uint32_t last = uint32_t(rest);
  for (; i < bytes.size(); ++i) last = _mm_crc32_u8(last, uint8_t(bytes[i]));
  return ~last;
}

std::vector<Crc32c> crc32c_ways() {
  std::vector<Crc32c> ways = {crc32c_plain};
  if (__builtin_cpu_supports("sse4.2")) ways.push_back(crc32c_sse);
  const bool folds = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq") &&
                     __builtin_cpu_supports("pclmul");
  if (ways.size() == 2 && folds) ways.push_back(crc32c_folded);
  return ways;
}

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc) {
  static const Crc32c fastest = crc32c_ways().back();
  return fastest(bytes, crc);
}

}  // namespace zero
