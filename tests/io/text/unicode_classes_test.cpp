// Ranks: 1

#include "io/text/unicode_classes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

#include "zero/base/digests.hpp"

namespace zero {
namespace {

TEST(UnicodeClasses, AreThoseThatTheTokenizersPackageGave) {
  std::string bytes;
  for (const uint32_t border : kClassTable) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(char(border >> shift));
  }
  Sha256 sum;
  sum.add(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(sum.digest(), "58eedf957a79f16aa8fc1ea9d232f95ba076c6aa15fefaa3e2d41bf33cdafbaf")
      << "a new table by tools/data/unicode_classes.py wants a new sum here";
}

TEST(UnicodeClasses, BeginAtZeroAndAscendWithAnotherClassEachTime) {
  EXPECT_EQ(kClassTable.front(), 0u);
  const auto stays = [](uint32_t a, uint32_t b) { return a / 4 >= b / 4 || a % 4 == b % 4; };
  EXPECT_EQ(std::adjacent_find(kClassTable.begin(), kClassTable.end(), stays), kClassTable.end());
}

}  // namespace
}  // namespace zero
