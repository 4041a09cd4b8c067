#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace zero {

/// tables[k][b]: the remainder of byte b followed by k zero bytes.
constexpr std::array<std::array<uint32_t, 256>, 4> crc32_tables() {
  std::array<std::array<uint32_t, 256>, 4> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? 0xEDB88320u : 0u);
    tables[0][byte] = rest;
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (size_t k = 1; k < 4; ++k) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

/// The CRC-32 of zip and zlib, so that scripts can compute it too. Continues from `crc`, 0 at
/// first.
inline uint32_t crc32(const uint8_t* bytes, size_t count, uint32_t crc = 0) {
  static constexpr auto kTables = crc32_tables();
  uint32_t rest = ~crc;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    rest ^= uint32_t(bytes[i]) | uint32_t(bytes[i + 1]) << 8 | uint32_t(bytes[i + 2]) << 16 |
            uint32_t(bytes[i + 3]) << 24;
    rest = kTables[3][rest & 0xFF] ^ kTables[2][(rest >> 8) & 0xFF] ^
           kTables[1][(rest >> 16) & 0xFF] ^ kTables[0][rest >> 24];
  }
  for (; i < count; ++i) rest = (rest >> 8) ^ kTables[0][(rest ^ bytes[i]) & 0xFF];
  return ~rest;
}

}  // namespace zero
