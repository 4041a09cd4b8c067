// Ranks: 1
#include <gtest/gtest.h>

#include "zero/base/text.hpp"

namespace zero {
namespace {

TEST(Hex, WritesTwoDigitsOfEachByteInTheirOrder) {
  EXPECT_EQ(hex_of({}), "");
  const uint8_t bytes[] = {0x00, 0x0a, 0xf1, 0xff};
  EXPECT_EQ(hex_of(bytes), "000af1ff");
}

}  // namespace
}  // namespace zero
