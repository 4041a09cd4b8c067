// Ranks: 1
#include <gtest/gtest.h>

#include "src/commands/generate_command.hpp"
#include "src/model/blenderbot.hpp"
#include "tests/support/tree_folder.hpp"

namespace zero::commands {
namespace {

const model::TalkForm& blenderbots() { return model::blenderbot_family().talk; }

/// The chat template of Transformers' BlenderbotTokenizer, but for the end: a blank in front of
/// what a user says, and two between messages.
std::string by_the_template(const Turns& messages) {
  std::string all;
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool is_user = i % 2 == 0, is_last = i + 1 == messages.size();
    all += (is_user ? " " : "") + messages[i] + (is_last ? "" : "  ");
  }
  return all;
}

TEST(TextOfTalk, HasTheIdsOfBlenderbotsChatTemplate) {
  const auto tokenizer =
      open_tokenizer((testing_support::tree_folder() / "tests/golden/chat_bpe").string());
  // An answer has the blank that its first token has.
  const Turns talk = {"every animal?", " all the livestock.", "and every bird"};
  const std::vector<int32_t> ids = tokenizer->encode(by_the_template(talk));
  EXPECT_EQ(tokenizer->encode(text_of_talk(blenderbots(), "", talk)), ids);
  EXPECT_NE(tokenizer->encode(talk[0] + "  " + talk[1] + "  " + talk[2]), ids);
}

TEST(TextOfTalk, WithoutItsBeginningEndsAlike) {
  const Turns talk = {" all the livestock.", "and every bird"};
  EXPECT_EQ(text_of_talk(blenderbots(), "", talk), " all the livestock.   and every bird");
}

TEST(TextOfTalk, TellsABlenderbotItsPersonaOnce) {
  const Turns talk = {"hello"};
  const std::string expected = "your persona: i sail.   hello";
  EXPECT_EQ(text_of_talk(blenderbots(), "i sail.", talk), expected);
  EXPECT_EQ(text_of_talk(blenderbots(), "your persona: i sail.", talk), expected);
}

TEST(TextOfTalk, OfOtherFamiliesHasTwoBlanksBetweenTurns) {
  EXPECT_EQ(text_of_talk({}, "i sail.", {"hello", "hi", "so?"}), "i sail.  hello  hi  so?");
}

}  // namespace
}  // namespace zero::commands
