// Ranks: 1

#include "zero/model/text_scores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/equal_hashes.hpp"
#include "tests/support/processor_time.hpp"
#include "tests/support/tree_folder.hpp"

namespace zero::model {
namespace {

using ::testing::ElementsAre;

TextCounts count_all(const std::vector<std::string>& texts,
                     const std::vector<std::string>& references) {
  TextCounts counts;
  for (size_t i = 0; i < texts.size(); ++i) counts += count_text(texts[i], references[i]);
  return counts;
}

nlohmann::json golden() {
  std::ifstream file(testing_support::tree_folder() / "tests/golden/bleu.json");
  return nlohmann::json::parse(file);
}

TEST(Tokens13a, CutPunctuationOffButForNumbersAndWords) {
  EXPECT_THAT(tokens_13a("Hello, world."), ElementsAre("Hello", ",", "world", "."));
  EXPECT_THAT(tokens_13a("1,000.50 (5%)"), ElementsAre("1,000.50", "(", "5", "%", ")"));
  EXPECT_THAT(tokens_13a("don't re-do 3-4"), ElementsAre("don't", "re-do", "3", "-", "4"));
  EXPECT_THAT(tokens_13a("a.,b"), ElementsAre("a", ".", ",", "b"));
  EXPECT_THAT(tokens_13a("\u00e9.5"), ElementsAre("\u00e9", ".", "5"));
}

TEST(Tokens13a, ReadEntitiesAndKnowTheBlanksOfUnicode) {
  EXPECT_THAT(tokens_13a("&quot;&amp;lt;&gt;"), ElementsAre("\"", "<", ">"));
  EXPECT_THAT(tokens_13a("a<skipped>b-\nc\nd"), ElementsAre("abc", "d"));
  EXPECT_THAT(tokens_13a("a\u00a0b\u3000c\u2028d\x1c e \u205f"),
              ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(tokens_13a("a\u200bb"), ElementsAre("a\u200bb")) << "which has no width";
  EXPECT_THAT(tokens_13a(" \n"), ElementsAre());
}

TEST(Tokens13a, TakeTimeByTheTextWhateverItHolds) {
  std::string skipped, words;
  for (int i = 0; i < 1 << 17; ++i) skipped += "<skipped>x";
  for (const std::string& word : testing_support::texts_of_one_hash(1 << 15)) words += word + " ";
  for (const std::string& text : {skipped, words})
    EXPECT_LT(testing_support::processor_seconds([&] { count_text(text, text); }), 3);
  EXPECT_THAT(tokens_13a("a<skip<skipped>ped>b"), ElementsAre("a", "<", "skipped", ">", "b"));
}

TEST(Bleu, OfACopyIsAHundred) {
  const TextCounts counts = count_text("the cat sat on the mat", "the cat sat on the mat");
  EXPECT_THAT(counts.matched, ElementsAre(6, 5, 4, 3));
  EXPECT_NEAR(bleu(counts), 100, 1e-12);
  EXPECT_EQ(exact_match(counts), 1);
}

TEST(Bleu, ClipsWhatComesMoreOftenThanInTheReference) {
  const TextCounts counts = count_text("the the the the", "the cat the dog");
  EXPECT_THAT(counts.matched, ElementsAre(2, 0, 0, 0));
  EXPECT_THAT(counts.total, ElementsAre(4, 3, 2, 1));
  // Orders without a match count half a match, a quarter and an eighth.
  EXPECT_THAT(bleu_precisions(counts), ElementsAre(50, 50.0 / 3, 12.5, 12.5));
}

TEST(Bleu, MakesTextsThatAreTooShortPay) {
  const TextCounts counts = count_text("a b c d", "a b c d e f g h");
  EXPECT_DOUBLE_EQ(brevity_penalty(counts), std::exp(-1));
  EXPECT_NEAR(bleu(counts), 100 * std::exp(-1), 1e-12);
  EXPECT_EQ(brevity_penalty(count_text("", "a")), 0);
}

TEST(Bleu, IsNothingWithoutAMatchOrWithoutFourTokens) {
  EXPECT_EQ(bleu(TextCounts{}), 0);
  EXPECT_EQ(bleu(count_text("a", "b")), 0);
  EXPECT_EQ(bleu(count_text("a b c", "a b c")), 0);
}

TEST(Bleu, IsEqualToSacreBleuOnGoldenCorpora) {
  const nlohmann::json rows = golden();
  ASSERT_GE(rows.size(), 40u);
  for (const auto& row : rows) {
    const TextCounts counts = count_all(row[0], row[1]);
    EXPECT_NEAR(bleu(counts), row[2].get<double>(), 1e-9) << row;
    EXPECT_NEAR(brevity_penalty(counts), row[4].get<double>(), 1e-12);
    EXPECT_THAT(bleu_precisions(counts), ::testing::Pointwise(::testing::DoubleNear(1e-9),
                                                              row[3].get<std::vector<double>>()));
    EXPECT_THAT((std::array{counts.tokens, counts.reference_tokens}),
                ::testing::ElementsAreArray(row[5].get<std::vector<int64_t>>()));
  }
}

TEST(TextCounts, OfRanksAddUpToThoseOfAllPairs) {
  const nlohmann::json rows = golden();
  for (const auto& row : rows) {
    const std::vector<std::string> texts = row[0], references = row[1];
    TextCounts ranks[3], sum;
    for (size_t i = 0; i < texts.size(); ++i) ranks[i % 3] += count_text(texts[i], references[i]);
    for (const TextCounts& rank : ranks) sum += rank;
    EXPECT_EQ(sum, count_all(texts, references));
    EXPECT_EQ(sum.texts, int64_t(texts.size()));
  }
}

TEST(ExactMatch, ForgivesBlanksAtTheEndsAlone) {
  const TextCounts counts = count_all({" a b\u00a0", "a  b", "A b", ""}, {"a b", "a b", "a b", ""});
  EXPECT_EQ(counts.exact, 2);
  EXPECT_EQ(exact_match(counts), 0.5);
  EXPECT_EQ(exact_match({}), 0);
}

}  // namespace
}  // namespace zero::model
