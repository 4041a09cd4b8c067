#include <nmmintrin.h>

#include <cstring>

#include "zero/base/crc32c.hpp"

namespace zero {
namespace {

__attribute__((target("sse4.2"))) uint32_t crc32c_sse(std::span<const std::byte> bytes,
                                                      uint32_t crc) {
  uint64_t rest = ~crc;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    rest = _mm_crc32_u64(rest, word);
  }
  uint32_t last = uint32_t(rest);
  for (; i < bytes.size(); ++i) last = _mm_crc32_u8(last, uint8_t(bytes[i]));
  return ~last;
}

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  return has_instruction ? crc32c_sse(bytes, crc) : crc32c_plain(bytes, crc);
}

}  // namespace zero
