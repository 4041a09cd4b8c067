// Ranks: 1

#include "zero/base/crc32.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace zero {
namespace {

uint32_t crc_of(std::string_view text, uint32_t crc = 0) {
  return crc32(reinterpret_cast<const uint8_t*>(text.data()), text.size(), crc);
}

TEST(Crc32, HasTheCheckValueOfTheStandard) {
  EXPECT_EQ(crc_of("123456789"), 0xCBF43926u);
  EXPECT_EQ(crc_of(""), 0u);
}

TEST(Crc32, ContinuesAtAnyPlace) {
  for (size_t cut = 0; cut <= 9; ++cut) {
    const std::string_view text = "123456789";
    EXPECT_EQ(crc_of(text.substr(cut), crc_of(text.substr(0, cut))), 0xCBF43926u);
  }
}

}  // namespace
}  // namespace zero
