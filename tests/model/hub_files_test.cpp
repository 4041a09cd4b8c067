// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/refusal.hpp"
#include "zero/model/family.hpp"

namespace zero::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::refusal_of;

HubConfig config_of(const std::string& json) { return HubConfig(json, "config.json"); }

TEST(HubConfig, ReadsListsAndSingleValuesAlike) {
  const HubConfig config = config_of(R"({"a": [1, 2.5], "b": 3, "c": ["x", "y"], "d": null})");
  EXPECT_THAT(config.numbers("a"), ElementsAre(1, 2.5));
  EXPECT_THAT(config.numbers("b"), ElementsAre(3));
  EXPECT_THAT(config.numbers("d"), IsEmpty());
  EXPECT_THAT(config.wholes("b", 3), ElementsAre(3));
  EXPECT_THAT(config.words("c"), ElementsAre("x", "y"));
  const auto refusal = [&](const auto& read) { return refusal_of(Exit::kInput, read); };
  EXPECT_THAT(refusal([&] { config.wholes("a", 9); }), HasSubstr("integers from 0 to 9"));
  EXPECT_THAT(refusal([&] { config.wholes("b", 2); }), HasSubstr("b is 3: write integers"));
  EXPECT_THAT(refusal([&] { config.numbers("c"); }), HasSubstr("write numbers"));
  EXPECT_THAT(refusal([&] { config.count("a", 9); }), HasSubstr("write 1 to 9"))
      << "and not the last of a list";
}

TEST(HubConfig, TellsAbsentFromNullAndKnowsObjects) {
  const HubConfig config = config_of(R"({"a": null, "b": {"c": 1}, "d": {}, "e": [], "f": "x"})");
  EXPECT_TRUE(config.names("a") && !config.has("a") && !config.opens("a"));
  EXPECT_TRUE(config.names("b") && !config.has("b") && config.opens("b"));
  EXPECT_TRUE(config.names("e"));
  EXPECT_FALSE(config.names("z"));
  EXPECT_FALSE(config.opens("d"));
  EXPECT_TRUE(config.is_word("f") && !config.is_word("a"));
  EXPECT_EQ(config.number_or("b.c", 0, 2, 9), 1);
  EXPECT_EQ(config.number_or("z", 0, 2, 9), 9) << "a default may be out of range";
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { config.number_or("b.c", 2, 3, 9); }),
              HasSubstr("b.c is 1: write 2 to 3"));
}

TEST(HubConfig, NamesAKeyThatNobodyAskedFor) {
  const auto refusal = [](const std::string& json, std::string_view harmless = "") {
    HubConfig config = config_of(json);
    config.compare_with("SomeModel");
    config.count_or("known", 9, 1);
    return refusal_of(Exit::kInput, [&] {
      config.require_all_asked([&](std::string_view key) { return key == harmless; });
    });
  };
  EXPECT_EQ(refusal(R"({"known": 1, "a": null, "b": false, "c": [], "d": {}, "e": {"f": null}})"),
            "");
  EXPECT_EQ(refusal(R"({"other": 1})"),
            "config.json: other is 1: nothing in a SomeModel here goes by this key; remove it if "
            "it changes no number of the model, or take a model without it");
  EXPECT_THAT(refusal(R"({"a": {"b": true}})"), HasSubstr("a.b is true"));
  EXPECT_THAT(refusal(R"({"a": [1, false]})"), HasSubstr("a is false"));
  EXPECT_EQ(refusal(R"({"a": {"b": true}})", "a"), "");
}

}  // namespace
}  // namespace zero::model
