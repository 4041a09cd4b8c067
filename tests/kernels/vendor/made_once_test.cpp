// Ranks: 1

#include "kernels/vendor/made_once.hpp"

#include <gtest/gtest.h>

namespace zero::kernels::vendor {
namespace {

using Squares = MadeOnce<int, int>;

TEST(MadeOnce, MakesAValueAtTheFirstUseOfItsKeyAlone) {
  Squares squares;
  int made = 0;
  const auto square = [&](int key) {
    ++made;
    return key * key;
  };
  for (int key : {3, 4, 3, 3, 4}) EXPECT_EQ(squares.get(key, square), key * key);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(squares.size(), 2u);
}

TEST(MadeOnce, KeepsValuesInTheirPlace) {
  Squares squares;
  const auto square = [](int key) { return key * key; };
  const int* const first = &squares.get(0, square);
  for (int key = 1; key < int(Squares::kMost); ++key) squares.get(key, square);
  EXPECT_EQ(&squares.get(0, square), first);
  EXPECT_EQ(squares.size(), Squares::kMost);
}

TEST(MadeOnce, BeginsAfreshRatherThanGrowWithoutEnd) {
  Squares squares;
  const auto square = [](int key) { return key * key; };
  for (int key = 0; key < int(3 * Squares::kMost); ++key) {
    EXPECT_EQ(squares.get(key, square), key * key);
    EXPECT_LE(squares.size(), Squares::kMost);
  }
}

TEST(MadeOnce, RemembersNothingThatFailed) {
  Squares squares;
  EXPECT_THROW(squares.get(1, [](int) -> int { throw 1; }), int);
  EXPECT_EQ(squares.size(), 0u);
  EXPECT_EQ(squares.get(1, [](int) { return 5; }), 5);
}

}  // namespace
}  // namespace zero::kernels::vendor
