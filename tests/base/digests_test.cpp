// Ranks: 1

#include "zero/base/digests.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace zero {
namespace {

using Crc = uint32_t (*)(std::span<const std::byte>, uint32_t);

uint32_t crc32_of(std::span<const std::byte> bytes, uint32_t crc) {
  return crc32(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), crc);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Crc32, HasTheCheckValuesOfTheStandards) {
  EXPECT_EQ(crc32_of(bytes_of("123456789"), 0), 0xCBF43926u);
  EXPECT_EQ(crc32_of({}, 0), 0u);
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32)), 0x8a9136aau) << "RFC 3720: 32 bytes of zeros";
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32, ContinuesAtAnyPlace) {
  std::vector<std::byte> bytes(100);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(uint8_t(i * 31 + i / 7));
  const std::span<const std::byte> all(bytes);
  for (const Crc crc : {Crc(crc32_of), Crc(crc32c)}) {
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      EXPECT_EQ(crc(all.subspan(cut), crc(all.first(cut), 0)), crc(all, 0)) << cut;
    }
  }
}

TEST(Crc32, ChangesWithAnyBit) {
  std::vector<std::byte> bytes(64);
  for (const Crc crc : {Crc(crc32_of), Crc(crc32c)}) {
    const uint32_t whole = crc(bytes, 0);
    for (size_t bit = 0; bit < 512; ++bit) {
      bytes[bit / 8] ^= std::byte(1 << bit % 8);
      EXPECT_NE(crc(bytes, 0), whole) << bit;
      bytes[bit / 8] ^= std::byte(1 << bit % 8);
    }
  }
}

}  // namespace
}  // namespace zero
