// Ranks: 1
#include "zero/base/keyed_hash.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/support/equal_hashes.hpp"

namespace zero {
namespace {

TEST(KeyedHash, TellsTextsApartThatHaveOneHashOfTheLibrarys) {
  std::set<size_t> theirs, keyed;
  for (const std::string& text : testing_support::texts_of_one_hash(1024)) {
    theirs.insert(std::hash<std::string>()(text));
    keyed.insert(KeyedHash()(text));
  }
  EXPECT_EQ(theirs.size(), 1u) << "else the texts are no attack on this library";
  EXPECT_EQ(keyed.size(), 1024u);
}

TEST(KeyedHash, IsTheSameForEqualTexts) {
  const std::string text = "a text";
  EXPECT_EQ(KeyedHash()(text), KeyedHash()(std::string_view("a text!").substr(0, 6)));
}

}  // namespace
}  // namespace zero
