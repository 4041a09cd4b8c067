// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "io/text/tokenizers.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tokenizer_folder.hpp"
#include "tests/support/tree_folder.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::refusal_of;
using testing_support::TokenizerFolder;

const TokenizerFolder& folder() {
  static const TokenizerFolder kFolder("settings");
  return kFolder;
}

std::string refusal_of_config(const std::string& config) {
  folder().write("tokenizer_config.json", config);
  const std::string found =
      refusal_of(Exit::kInput, [&] { read_tokenizer_settings(folder().path()); });
  folder().remove("tokenizer_config.json");
  return found;
}

TEST(TokenizerSettings, AreTheDefaultsWhereNoFileSpeaks) {
  const TokenizerSettings found = read_tokenizer_settings(folder().path());
  EXPECT_TRUE(found.named.empty() && found.added.empty() && found.legacy && !found.prefix_space);
  EXPECT_EQ(found.extra_ids, 100);
  EXPECT_EQ(found.text_of("eos_token", "</s>"), "</s>");
}

TEST(TokenizerSettings, ReadRolesAsTextsAndAsObjects) {
  const TokenizerFolder own("roles");
  own.write("tokenizer_config.json", R"({"eos_token": "E", "add_prefix_space": true, "legacy": null,
      "mask_token": {"content": "<mask>", "lstrip": true, "rstrip": false}, "pad_token": null,
      "additional_special_tokens": ["A", {"content": "B"}, {"content": "C", "rstrip": true}]})");
  own.write("special_tokens_map.json", R"({"eos_token": "other", "unk_token": {"content": "U"}})");
  own.write("config.json", R"({"decoder_start_token_id": 3, "deep": {"a": {"b": [[{}]]}}})");
  const TokenizerSettings found = read_tokenizer_settings(own.path());
  EXPECT_EQ(found.text_of("eos_token"), "E");
  EXPECT_EQ(found.text_of("unk_token"), "U");
  EXPECT_EQ(found.text_of("pad_token", "none"), "none");
  EXPECT_TRUE(found.prefix_space);
  EXPECT_EQ(found.decoder_start, 3);
  const auto ids = tokens_with_ids(found, [](const std::string& name) -> std::optional<int32_t> {
    return name == "U" ? std::nullopt : std::optional(int32_t(name[0]));
  });
  std::string all;
  for (const AddedToken& token : ids)
    all += token.text + (token.strips_left ? "<" : "") + (token.strips_right ? ">" : "") + " ";
  EXPECT_EQ(all, "E <mask>< A B C> ");
}

TEST(TokenizerSettings, ReadTheClassAndItsRulesOfEncoding) {
  const TokenizerFolder own("class");
  own.write("tokenizer_config.json", R"({"tokenizer_class": "DebertaV2Tokenizer",
      "do_lower_case": true, "split_by_punct": true})");
  const TokenizerSettings found = read_tokenizer_settings(own.path());
  EXPECT_EQ(found.tokenizer_class, "DebertaV2Tokenizer");
  EXPECT_TRUE(found.lower_case && found.split_by_punct);
  EXPECT_THAT(refusal_of_config(R"({"do_lower_case": "no"})"), HasSubstr("is no boolean"));
}

TEST(TokenizerSettings, ReadAddedTokensByIdOrElseByName) {
  const TokenizerFolder own("added");
  own.write("added_tokens.json", R"({"<mask>": 12})");
  EXPECT_EQ(read_tokenizer_settings(own.path()).added.at(12).text, "<mask>");
  own.write(
      "tokenizer_config.json",
      R"({"added_tokens_decoder": {"9": {"content": "x", "lstrip": true, "special": false}}})");
  const auto added = read_tokenizer_settings(own.path()).added;
  ASSERT_EQ(added.size(), 1u);
  EXPECT_TRUE(added.at(9).strips_left && !added.at(9).strips_right && !added.at(9).special);
}

TEST(TokenizerSettings, HaveAnotherFingerprintWithEachFactThatChangesIds) {
  TokenizerSettings made;
  made.named = {{.role = "eos_token", .token = {.text = "E"}}};
  made.added[9] = {.text = "x", .id = 9};
  std::set<uint32_t> met = {made.fingerprint()};
  size_t changes = 1;
  const auto expect_other = [&](const char* fact, const auto& change) {
    TokenizerSettings other = made;
    change(other);
    met.insert(other.fingerprint());
    EXPECT_EQ(met.size(), ++changes) << fact;
  };
  expect_other("add_prefix_space", [](TokenizerSettings& s) { s.prefix_space = true; });
  expect_other("legacy", [](TokenizerSettings& s) { s.legacy = false; });
  expect_other("extra_ids", [](TokenizerSettings& s) { s.extra_ids = 7; });
  expect_other("role", [](TokenizerSettings& s) { s.named[0].role = "unk_token"; });
  expect_other("text", [](TokenizerSettings& s) { s.named[0].token.text = "F"; });
  expect_other("lstrip", [](TokenizerSettings& s) { s.named[0].token.strips_left = true; });
  expect_other("rstrip", [](TokenizerSettings& s) { s.named[0].token.strips_right = true; });
  expect_other("id", [](TokenizerSettings& s) { s.added[8] = s.added.extract(9).mapped(); });
  expect_other("added text", [](TokenizerSettings& s) { s.added[9].text = "y"; });
  expect_other("added lstrip", [](TokenizerSettings& s) { s.added[9].strips_left = true; });
  expect_other("added rstrip", [](TokenizerSettings& s) { s.added[9].strips_right = true; });
  expect_other("one more", [](TokenizerSettings& s) { s.added[10] = {.text = "z", .id = 10}; });
}

TEST(TokenizerSettings, RefuseValuesOfOtherTypesByFileAndKey) {
  EXPECT_THAT(refusal_of_config("[]"),
              HasSubstr("tokenizer_config.json: byte 1: is no JSON object"));
  EXPECT_THAT(refusal_of_config("{\"eos_token\": 7}"), HasSubstr("json: eos_token: is no text"));
  EXPECT_THAT(refusal_of_config("{\"legacy\": \"no\"}"), HasSubstr("legacy: is no boolean"));
  EXPECT_THAT(refusal_of_config("{\"extra_ids\": -1}"),
              HasSubstr("extra_ids: -1 is not 0 to 1048575"));
  EXPECT_THAT(refusal_of_config("{\"extra_ids\": 1.5}"), HasSubstr("extra_ids: is no integer"));
  const auto added = [](const std::string& id, const std::string& member) {
    return refusal_of_config("{\"added_tokens_decoder\": {\"" + id + "\": {" + member + "}}}");
  };
  EXPECT_THAT(added("x", "\"content\": \"a\""), HasSubstr("added_tokens_decoder.x.content: is no"));
  EXPECT_THAT(added("-2", "\"content\": \"a\""), HasSubstr("id -2 is not 0 to 1048575"));
  EXPECT_THAT(added("9999999999", "\"content\": \"a\""), HasSubstr("is not 0 to"));
  EXPECT_THAT(added("1", "\"lstrip\": 1"), HasSubstr("lstrip: is no boolean"));
  EXPECT_THAT(added("1", "\"single_word\": true"),
              AllOf(HasSubstr("single_word: true is not"), HasSubstr("write false")));
}

TEST(TokenizerSettings, ReadAnyDamageOrRefuseItAsInput) {
  const auto golden = testing_support::tree_folder() / "tests/golden/chat_bpe";
  const TokenizerFolder own("damaged");
  std::mt19937 random(1);
  for (const char* name :
       {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}) {
    const std::string good = TokenizerFolder("good", golden).read(name);
    for (int i = 0; i < 150; ++i) {
      std::string bad = good.substr(0, i % 3 ? good.size() : random() % good.size());
      if (!bad.empty()) bad[random() % bad.size()] = "\"{}[]:,0-e\xFFtnx "[random() % 15];
      own.write(name, bad);
      refusal_of(Exit::kInput, [&] { read_tokenizer_settings(own.path()); });
    }
    own.remove(name);
  }
}

}  // namespace

}  // namespace zero
