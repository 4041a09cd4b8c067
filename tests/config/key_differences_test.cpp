// Ranks: 1
#include "zero/config/key_differences.hpp"

#include <gtest/gtest.h>

namespace zero {
namespace {

TEST(DifferingSettings, NamesKeysAndBothValues) {
  EXPECT_EQ(differing_settings("[run]\nseed = 1\nsteps = 5\n[zero]\nstage = 0\n",
                               "[run]\nseed = 2\nsteps = 5\n[zero]\nstage = 3\n"),
            "run.seed = 1 and 2, zero.stage = 0 and 3");
}

TEST(DifferingSettings, LooksAtValuesAndNotAtWhereTheyComeFrom) {
  EXPECT_EQ(differing_settings("a = 1  # a.toml:1", "# another file\na = 1  # b.toml:2"), "");
}

TEST(DifferingSettings, NamesTheFirstFive) {
  EXPECT_EQ(differing_settings("a=1\nb=1\nc=1\nd=1\ne=1\nf=1\ng=1\n",
                               "a=2\nb=2\nc=2\nd=2\ne=2\nf=2\ng=2\n"),
            "a = 1 and 2, b = 1 and 2, c = 1 and 2, d = 1 and 2, e = 1 and 2, and 2 more");
}

}  // namespace
}  // namespace zero
