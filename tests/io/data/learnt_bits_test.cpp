// Ranks: 1

#include "io/data/learnt_bits.hpp"

#include <gtest/gtest.h>

namespace zero {
namespace {

TEST(LearntBits, CountAnyStretch) {
  LearntBits bits;
  for (int i = 0; i < 200; ++i) bits.add(i % 3 == 0);
  EXPECT_TRUE(bits.at(63) && !bits.at(64) && bits.at(198));
  for (const int first : {0, 1, 63, 64, 65, 127}) {
    for (const int count : {0, 1, 2, 63, 64, 65, 73}) {
      int expected = 0;
      for (int i = first; i < first + count; ++i) expected += i % 3 == 0;
      EXPECT_EQ(bits.count(first, count), expected) << first << ' ' << count;
    }
  }
  EXPECT_EQ(bits.bytes(), 4 * 8);
}

}  // namespace
}  // namespace zero
