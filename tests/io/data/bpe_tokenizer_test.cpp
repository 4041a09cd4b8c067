// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/bpe_folder.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/io/data/tokenizer.hpp"

namespace zero {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::BpeFolder;
using testing_support::refusal_of;

/// Ids 256 and 257: " t", "he"; 258 and 259: what ends a text, and a mask.
BpeFolder english() { return BpeFolder({{"\u0120", "t"}, {"h", "e"}}, {"__end__", "<mask>"}); }

TEST(BpeTokenizer, IsEqualToTransformersOnGoldenTexts) {
  const auto folder = testing_support::tree_folder() / "tests/golden/chat_bpe";
  const auto bpe = open_tokenizer(folder.string());
  std::ifstream file(folder / "texts.json");
  const nlohmann::json rows = nlohmann::json::parse(file);
  ASSERT_GE(rows.size(), 250u);
  for (const auto& row : rows) {
    const std::vector<int32_t> ids = row[1];
    ASSERT_EQ(bpe->encode(row[0].get<std::string>()), ids) << row[0];
    ASSERT_EQ(bpe->decode(ids, SpecialTokens::kSkipped), row[2].get<std::string>());
  }
  const SpecialIds special = bpe->special_ids();
  EXPECT_THAT((std::array{special.pad, special.bos, special.eos, special.unk}),
              ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(special.sentinels, 0);
}

TEST(BpeTokenizer, FindsTheSpecialTokensThatItsFolderDeclares) {
  const BpeFolder folder = english();
  folder.write("special_tokens_map.json", R"({"eos_token": "__end__"})");
  const auto bpe = open_tokenizer(folder.path());
  EXPECT_THAT(bpe->encode("he__end__ t<mask>").size(), 9u) << "no file declares the mask";
  EXPECT_THAT(bpe->encode("he__end__ t"), ElementsAre(257, 258, 256));
  EXPECT_EQ(bpe->special_ids().eos, 258);
  EXPECT_EQ(bpe->special_ids().pad, SpecialIds::kNone);
  EXPECT_EQ(bpe->decode(std::vector<int32_t>{257, 258}), "he__end__");
  EXPECT_EQ(bpe->decode(std::vector<int32_t>{257, 258}, SpecialTokens::kSkipped), "he");
}

TEST(BpeTokenizer, PutsABlankInFrontOfEachStretchThatBeginsWithNone) {
  const BpeFolder folder = english();
  folder.write("tokenizer_config.json", R"({"add_prefix_space": true, "eos_token": "__end__"})");
  const auto bpe = open_tokenizer(folder.path());
  EXPECT_THAT(bpe->encode("the"), ElementsAre(256, 257));
  EXPECT_THAT(bpe->encode(" the"), ElementsAre(256, 257));
  EXPECT_THAT(bpe->encode("t__end__the"), ElementsAre(256, 258, 256, 257));
  EXPECT_THAT(bpe->encode(""), ElementsAre());
}

TEST(BpeTokenizer, KeepsAnAddedTokenBehindItsVocabulary) {
  const BpeFolder folder = english();
  folder.write("added_tokens.json", R"({"<new>": 262})");
  const auto bpe = open_tokenizer(folder.path());
  EXPECT_EQ(bpe->vocab_size(), 263);
  EXPECT_THAT(bpe->encode("<new>"), ElementsAre(262));
  EXPECT_EQ(bpe->decode(std::vector<int32_t>{260, 262}), "<new>") << "260 stands for nothing";
  EXPECT_EQ(bpe->special_ids().eos, SpecialIds::kNone) << "which has no name";
}

TEST(BpeTokenizer, RefusesAnAddedTokenThatIsAnotherEntry) {
  const BpeFolder folder = english();
  folder.write("added_tokens.json", R"({"<new>": 258})");
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { open_tokenizer(folder.path()); }),
              HasSubstr("the added token 258 is another entry of vocab.json"));
}

TEST(BpeTokenizer, HasAFingerprintThatChangesWithItsRules) {
  const BpeFolder folder = english();
  const uint64_t plain = open_tokenizer(folder.path())->fingerprint();
  folder.write("tokenizer_config.json", R"({"model_max_length": 1024})");
  EXPECT_EQ(open_tokenizer(folder.path())->fingerprint(), plain) << "which changes no id";
  folder.write("tokenizer_config.json", R"({"eos_token": "__end__"})");
  const uint64_t special = open_tokenizer(folder.path())->fingerprint();
  folder.write("tokenizer_config.json", R"({"eos_token": "__end__", "add_prefix_space": true})");
  EXPECT_NE(special, plain);
  EXPECT_NE(open_tokenizer(folder.path())->fingerprint(), special);
}

}  // namespace
}  // namespace zero
