// Ranks: 1
#include "io/text/bpe_tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/bpe_folder.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::BpeFolder;
using testing_support::refusal_of;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(text, at);
    if (end <= at || end > text.size()) {
      ADD_FAILURE() << "a word from " << at << " to " << end << " of " << text.size();
      break;
    }
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

TEST(BpeWords, CutLettersNumbersAndSignsApartAndGiveEachItsBlank) {
  EXPECT_THAT(words_of("In 1984, a war"), ElementsAre("In", " 1984", ",", " a", " war"));
  EXPECT_THAT(words_of("x1 !? $5"), ElementsAre("x", "1", " !?", " $", "5"));
}

TEST(BpeWords, KnowTheSevenContractionsInSmallLetters) {
  EXPECT_THAT(words_of("I'll he's"), ElementsAre("I", "'ll", " he", "'s"));
  EXPECT_THAT(words_of("don't 've"), ElementsAre("don", "'t", " '", "ve"));
  EXPECT_THAT(words_of("IT'S 'lx"), ElementsAre("IT", "'", "S", " '", "lx"));
}

TEST(BpeWords, LeaveTheLastBlankOfARunToTheNextWord) {
  EXPECT_THAT(words_of("a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(words_of("a\n\nb"), ElementsAre("a", "\n", "\n", "b"));
  EXPECT_THAT(words_of("a \n"), ElementsAre("a", " \n"));
  EXPECT_THAT(words_of("a\u3000\u3000b"), ElementsAre("a", "\u3000", "\u3000", "b"));
}

TEST(BpeWords, KnowClassesBeyondAscii) {
  EXPECT_THAT(words_of("caf\u00e9 \u65e5\u672c"), ElementsAre("caf\u00e9", " \u65e5\u672c"));
  EXPECT_THAT(words_of("\u00b2\u2167x"), ElementsAre("\u00b2\u2167", "x"));
  EXPECT_THAT(words_of("e\u0301\U0001F600"), ElementsAre("e", "\u0301\U0001F600"));
  // The last letter of Unicode 16 that Unicode 15 does not know, and one that 17 adds.
  EXPECT_THAT(words_of("a\U00016D6Aa"), ElementsAre("a\U00016D6Aa"));
  EXPECT_THAT(words_of("a\U000323B0a"), ElementsAre("a", "\U000323B0", "a"));
}

TEST(BpeWords, TakeAByteThatIsNoUtf8ForAWord) {
  EXPECT_THAT(words_of("a\xFF\xFE"
                       "b"),
              ElementsAre("a", "\xFF", "\xFE", "b"));
  EXPECT_THAT(words_of("a \xC3"), ElementsAre("a", " ", "\xC3"));
  EXPECT_THAT(words_of("\xE4\xB8"), ElementsAre("\xE4", "\xB8"));
  EXPECT_THAT(words_of("\xED\xA0\x80"), ElementsAre("\xED", "\xA0", "\x80"));
  EXPECT_THAT(words_of("\xC0\xAF"), ElementsAre("\xC0", "\xAF"));
}

/// What a list of merges, best first, makes of symbols.
std::vector<int32_t> merged(const std::vector<BpeMerge>& merges,
                            const std::vector<int32_t>& symbols) {
  MergeTable table(merges.size());
  for (uint32_t rank = 0; rank < merges.size(); ++rank)
    EXPECT_TRUE(table.add(merges[rank].left, merges[rank].right, rank));
  WordMerger merger(table, merges);
  std::vector<int32_t> out;
  merger.merge(symbols, out);
  return out;
}

TEST(BpeMerges, TakeThePairOfLeastRankFirst) {
  EXPECT_THAT(merged({{2, 3, 8}, {1, 2, 9}}, {1, 2, 3}), ElementsAre(1, 8));
  EXPECT_THAT(merged({{1, 2, 9}, {2, 3, 8}}, {1, 2, 3}), ElementsAre(9, 3));
}

TEST(BpeMerges, TakeTheLeftmostOfEqualPairs) {
  EXPECT_THAT(merged({{1, 1, 5}}, {1, 1, 1}), ElementsAre(5, 1));
  EXPECT_THAT(merged({{1, 1, 5}, {5, 5, 6}}, {1, 1, 1, 1, 1, 1, 1}), ElementsAre(6, 5, 1));
}

TEST(BpeMerges, MergeResultsWithBothNeighbours) {
  EXPECT_THAT(merged({{2, 3, 5}, {1, 5, 6}, {6, 4, 7}}, {1, 2, 3, 4}), ElementsAre(7));
  EXPECT_THAT(merged({{2, 3, 5}, {5, 4, 6}, {1, 6, 7}}, {1, 2, 3, 4}), ElementsAre(7));
}

TEST(BpeMerges, ForgetAPairWhoseSideIsMergedElsewhere) {
  // 1 2 waits at rank 1 when 2 3 is merged; what stands there then, 1 10, has its turn after 10 4.
  EXPECT_THAT(merged({{2, 3, 10}, {1, 2, 11}, {10, 4, 12}, {1, 10, 13}}, {1, 2, 3, 4}),
              ElementsAre(1, 12));
  // 2 3 waits at rank 1 when 1 2 is merged; 12 must still find 3 on its left.
  EXPECT_THAT(merged({{1, 2, 10}, {2, 3, 11}, {4, 5, 12}, {3, 12, 13}}, {1, 2, 3, 4, 5}),
              ElementsAre(10, 13));
}

TEST(BpeMerges, LeaveWhatHasNoMerge) {
  EXPECT_THAT(merged({}, {3, 1, 2}), ElementsAre(3, 1, 2));
  EXPECT_THAT(merged({{1, 2, 3}}, {}), ElementsAre());
  EXPECT_THAT(merged({{1, 2, 3}}, {1}), ElementsAre(1));
}

TEST(BpeMerges, TakeAWordOfAMillionSymbols) {
  // Twenty merges of equals: one symbol is left, and no time is quadratic.
  std::vector<BpeMerge> merges;
  for (int32_t i = 0; i < 20; ++i) merges.push_back({i, i, i + 1});
  EXPECT_THAT(merged(merges, std::vector<int32_t>(1 << 20, 0)), ElementsAre(20));
}

TEST(BpeMerges, TableRefusesAPairTwiceAndFindsNoOther) {
  MergeTable table(1000);
  for (uint32_t i = 0; i < 1000; ++i) ASSERT_TRUE(table.add(int32_t(i % 40), int32_t(i), i));
  EXPECT_FALSE(table.add(39, 39, 7));
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(table.rank(int32_t(i % 40), int32_t(i)), i);
  EXPECT_EQ(table.rank(40, 40), MergeTable::kNone);
  EXPECT_EQ(table.rank(39, 40), MergeTable::kNone);
}

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
