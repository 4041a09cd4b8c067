// Ranks: 1
#include "zero/text/character_stream.hpp"

#include <gtest/gtest.h>

#include <string>

namespace zero::writing {
namespace {

TEST(CharacterStream, HoldsBackWhatMayBecomeACharacter) {
  CharacterStream stream;
  EXPECT_EQ(stream.add("a\xC3"), "a");
  EXPECT_EQ(stream.add("\xA9\xF0\x9F"), "\xC3\xA9");
  EXPECT_EQ(stream.add("\x98"), "");
  EXPECT_EQ(stream.add("\x80!"), "\xF0\x9F\x98\x80!");
  EXPECT_EQ(stream.finish(), "");
}

TEST(CharacterStream, ReplacesWhatCannot) {
  const std::string bad = "\xEF\xBF\xBD";
  CharacterStream stream;
  EXPECT_EQ(stream.add("\xFFx"), bad + "x");
  EXPECT_EQ(stream.add("\xC3\xC3\xA9"), bad + "\xC3\xA9") << "a broken one before a whole one";
  EXPECT_EQ(stream.add("\xE2\x82"), "");
  EXPECT_EQ(stream.add("z"), bad + "z");
  EXPECT_EQ(stream.add("\xE2"), "");
  EXPECT_EQ(stream.finish(), bad);
  EXPECT_EQ(stream.finish(), "");
}

}  // namespace
}  // namespace zero::writing
