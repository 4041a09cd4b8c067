#include <array>

#include "zero/base/crc32c.hpp"

namespace zero {
namespace {

constexpr size_t kSlices = 8;

/// tables[k][b]: the remainder of byte b followed by k zero bytes.
constexpr auto make_tables() {
  std::array<std::array<uint32_t, 256>, kSlices> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? kCrc32cPolynomial : 0u);
    tables[0][byte] = rest;
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (size_t k = 1; k < kSlices; ++k) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr auto kTables = make_tables();

}  // namespace

uint32_t crc32c_plain(std::span<const std::byte> bytes, uint32_t crc) {
  uint32_t rest = ~crc;
  size_t i = 0;
  for (; i + kSlices <= bytes.size(); i += kSlices) {
    uint32_t next = 0;
    for (size_t k = 0; k < kSlices; ++k) {
      const uint32_t mixed = uint32_t(bytes[i + k]) ^ (k < 4 ? (rest >> (8 * k)) & 0xff : 0);
      next ^= kTables[kSlices - 1 - k][mixed];
    }
    rest = next;
  }
  for (; i < bytes.size(); ++i) {
    rest = (rest >> 8) ^ kTables[0][(rest ^ uint32_t(bytes[i])) & 0xff];
  }
  return ~rest;
}

}  // namespace zero
