// Ranks: 1

#include "zero/base/white_space.hpp"

#include <gtest/gtest.h>

#include <string>

namespace zero {
namespace {

TEST(WhiteSpace, IsWhatPythonSplitsAt) {
  for (const std::string one : {" ", "\t", "\n", "\v", "\x1c", "\x1f", "\xc2\x85", "\xc2\xa0",
                                "\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x81\x9f", "\xe3\x80\x80"}) {
    EXPECT_EQ(white_bytes("a" + one + "b", 1), one.size()) << one;
    EXPECT_EQ(white_bytes(one.substr(0, one.size() - 1), 0), 0u) << "cut off";
  }
  for (const std::string other : {"a", "\x1b", "\xc2\xa1", "\xe2\x80\x8b", "\xe3\x80\x81"})
    EXPECT_EQ(white_bytes(other, 0), 0u) << other;
}

TEST(WhiteSpace, AtTheEndIsLeftOut) {
  EXPECT_EQ(bytes_before_end_blanks("a b \xc2\xa0\n"), 3u);
  EXPECT_EQ(bytes_before_end_blanks("a b"), 3u);
  EXPECT_EQ(bytes_before_end_blanks(" \n"), 0u);
}

TEST(WhiteSpace, CutsATextIntoPiecesOfWhichTheOuterMayBeEmpty) {
  EXPECT_EQ(pieces_between_blanks("one"), 1);
  EXPECT_EQ(pieces_between_blanks("one  two\xc2\xa0\nthree"), 3);
  EXPECT_EQ(pieces_between_blanks(" one "), 3);
  EXPECT_EQ(pieces_between_blanks(""), 1);
}

}  // namespace
}  // namespace zero
