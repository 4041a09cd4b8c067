// Ranks: 1
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "src/base/crc32c_ways.hpp"

namespace zero {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32)), 0x8a9136aau) << "RFC 3720: 32 bytes of zeros";
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, IsTheSameInEveryWayFromEveryPlaceAndInParts) {
  std::vector<std::byte> bytes(10'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(uint8_t(i * 31 + i / 7));
  const std::span<const std::byte> all(bytes);
  for (const Crc32c way : crc32c_ways()) {
    for (size_t count : {0, 1, 7, 8, 9, 63, 64, 65, 255, 256, 257, 511, 1025, 3071, 3072, 3073,
                         6152, 9999, 10'000}) {
      const auto first = all.first(count), rest = all.subspan(count);
      EXPECT_EQ(way(first, 0), crc32c_plain(first)) << count;
      EXPECT_EQ(way(rest, way(first, 0)), crc32c_plain(all)) << count;
    }
  }
  EXPECT_EQ(crc32c(all), crc32c_plain(all));
}

TEST(Crc32c, ChangesWithAnyBit) {
  std::vector<std::byte> bytes(64);
  const uint32_t whole = crc32c(bytes);
  for (size_t bit = 0; bit < 512; ++bit) {
    bytes[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_NE(crc32c(bytes), whole) << bit;
    bytes[bit / 8] ^= std::byte(1 << bit % 8);
  }
}

}  // namespace
}  // namespace zero
