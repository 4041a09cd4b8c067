// Ranks: 1

#include "zero/io/data/scored_texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing_support::refusal_of;
using testing_support::TempFile;

constexpr int32_t kBos = 1, kBlankA = 'A', kJoined = 'Y';

/// A tokenizer of bytes, but for " a" and "ya", which are one token each: "A" and "Y".
class BlankTokens : public Tokenizer {
 public:
  explicit BlankTokens(bool has_frame = false) : has_frame_(has_frame) {}

  int64_t vocab_size() const override { return 256; }
  TextFrame text_frame() const override {
    return has_frame_ ? TextFrame{.before = {kBos}, .after = {}} : TextFrame{};
  }
  std::vector<int32_t> encode(std::string_view text, SpecialNames) const override {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < text.size(); ++i) {
      const bool is_blank = text.substr(i).starts_with(" a");
      const bool is_joined = text.substr(i).starts_with("ya");
      ids.push_back(is_blank ? kBlankA : is_joined ? kJoined : uint8_t(text[i]));
      i += is_blank || is_joined;
    }
    return ids;
  }
  std::string decode(std::span<const int32_t>, SpecialTokens) const override { return ""; }
  uint64_t fingerprint() const override { return 0; }

 private:
  bool has_frame_;
};

ScoredIds ids(const std::string& text, int64_t scored) {
  return {.ids = {text.begin(), text.end()}, .scored = scored};
}

TEST(ScoredPair, IsTheJoinedTextBehindTheContext) {
  const BlankTokens tokenizer;
  const ScoringRules rules{.tokenizer = tokenizer, .length = 8};
  EXPECT_EQ(scored_pair(rules, "xy", " ab"), ids("xyAb", 2));
  EXPECT_EQ(scored_pair(rules, "xz", "a"), ids("xza", 1));
}

TEST(ScoredPair, KeepsTheContextWhereATokenReachesOverTheBorder) {
  const BlankTokens tokenizer;
  const ScoringRules rules{.tokenizer = tokenizer, .length = 8};
  EXPECT_EQ(scored_pair(rules, "xy", "abc"), ids("xybc", 2));
  EXPECT_EQ(scored_pair(rules, "xy", "a").scored, 0) << "it is a part of the context's last";
}

TEST(ScoredPair, MovesBlanksAtTheEndOfTheContextToTheContinuation) {
  const BlankTokens tokenizer;
  const ScoringRules rules{.tokenizer = tokenizer, .length = 8};
  EXPECT_EQ(scored_pair(rules, "xy ", "a"), ids("xyA", 1));
  EXPECT_EQ(scored_pair(rules, "xy\n", " ab"), ids("xy\nAb", 3));
}

TEST(ScoredPair, CutsTheContextFromTheLeft) {
  const BlankTokens tokenizer;
  const ScoringRules rules{.tokenizer = tokenizer, .length = 4};
  EXPECT_EQ(scored_pair(rules, "uvwxyz", "bc"), ids("xyzbc", 2));
  EXPECT_EQ(scored_pair(rules, "z", "bcde"), ids("zbcde", 4));
  EXPECT_EQ(scored_pair(rules, "z", "bcdef").scored, 5) << "which does not fit";
}

TEST(ScoredPair, OfAnEmptyContextFollowsThePrefix) {
  const BlankTokens tokenizer;
  const ScoringRules rules{.tokenizer = tokenizer, .length = 8, .prefix = '!'};
  EXPECT_EQ(scored_pair(rules, "", " ab"), ids("!Ab", 2));
  EXPECT_EQ(scored_pair(rules, " ", "ab"), ids("!Ab", 2)) << "blanks alone are no context";
  EXPECT_EQ(scored_pair(rules, "", "!b"), ids("!b", 1)) << "it begins with the prefix";
  const ScoringRules none{.tokenizer = tokenizer, .length = 8};
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { scored_pair(none, "", "ab"); }),
              HasSubstr("evaluation.prefix_token_id = NUMBER"));
}

TEST(ScoredPair, HasTheTokensThatATemplatePutsInFront) {
  const BlankTokens tokenizer(true);
  const ScoringRules rules{.tokenizer = tokenizer, .length = 8, .prefix = kBos};
  EXPECT_EQ(scored_pair(rules, "xy", "b"), ids("\1xyb", 1));
  EXPECT_EQ(scored_pair(rules, "", "ab"), ids("\1ab", 2)) << "which is once";
}

TEST(ScoredPair, MayAddNoToken) {
  const BlankTokens tokenizer;
  EXPECT_EQ(scored_pair({.tokenizer = tokenizer, .length = 8}, "xy", "").scored, 0);
}

TEST(ScoredWindows, ScoreEachTokenOnceAndFillTheLast) {
  const BlankTokens tokenizer;
  const ScoringRules rules{.tokenizer = tokenizer, .length = 4, .prefix = '!'};
  EXPECT_THAT(scored_windows(rules, "0123456789"),
              ElementsAre(ids("!0123", 4), ids("34567", 4), ids("56789", 2)));
  EXPECT_THAT(scored_windows(rules, "01"), ElementsAre(ids("!01", 2)));
  EXPECT_THAT(scored_windows(rules, "0123"), ElementsAre(ids("!0123", 4)));
  EXPECT_TRUE(scored_windows(rules, "").empty());
}

/// Returns the i32 columns of a sample.
std::vector<std::vector<int32_t>> columns_of(const Dataset& data, int64_t position, size_t form) {
  std::vector<std::vector<int32_t>> columns;
  std::vector<std::span<std::byte>> spans;
  for (const DataColumn& column : data.columns_of(form))
    columns.emplace_back(size_t(column.numel), 99);
  for (auto& column : columns) spans.push_back(std::as_writable_bytes(std::span(column)));
  data.read(position, form, spans);
  return columns;
}

TEST(ScoredTexts, HaveTargetsWhereTheyAreScored) {
  const ScoredTexts texts({{.ids = {5, 6, 7, 8}, .scored = 2}}, 4, false);
  EXPECT_THAT(columns_of(texts, 0, 0),
              ElementsAre(ElementsAre(5, 6, 7, 0), ElementsAre(-1, 7, 8, -1)));
  EXPECT_THAT(columns_of(texts, 1, 0)[1], ElementsAre(-1, -1, -1, -1)) << "past the end";
  EXPECT_THAT(texts.scored(0), Pair(1, 3));
  EXPECT_EQ(texts.counted(0, 2), 2);
}

TEST(ScoredTexts, OfPackingModelsAreOneDocument) {
  const ScoredTexts texts({{.ids = {5, 6, 7}, .scored = 1}}, 4, true);
  EXPECT_THAT(columns_of(texts, 0, 0)[2], ElementsAre(0, 0, 2, 3));
}

TEST(ScoredTexts, ArePaddedToTheLengthsOfTheirBucket) {
  ScoredTexts texts({{.ids = {1, 2, 3, 4, 5}, .scored = 1}, {.ids = {6, 7}, .scored = 1}}, 4,
                    false);
  texts.group({{.target = 2}, {.target = 4}}, 1);
  EXPECT_EQ(texts.sample_at(0), 1) << "the short one comes first";
  EXPECT_THAT(columns_of(texts, 0, texts.form_of(0, 1)),
              ElementsAre(ElementsAre(6, 0), ElementsAre(7, -1)));
  EXPECT_EQ(texts.form_of(1, 1), 1u);
}

TEST(ScoredTexts, RefuseRowsThatDoNotFit) {
  EXPECT_THROW(ScoredTexts({{.ids = {1, 2, 3}, .scored = 1}}, 1, false), Error);
  EXPECT_THROW(ScoredTexts({{.ids = {1, 2}, .scored = 0}}, 4, false), Error);
  EXPECT_THROW(ScoredTexts({{.ids = {1, 2}, .scored = 2}}, 4, false), Error);
}

DataOptions options() {
  return {.data = {.train = "synthetic", .sequence_length = 8}, .vocab_size = 256};
}

TEST(ScoredSets, CountCharactersAndBytesOfChoices) {
  const TempFile file("a.jsonl",
                      "{\"context\": \"x\", \"choices\": [\"\xc3\xa4\", \"bc\"], \"answer\": 1}\n"
                      "{\"context\": \"y\", \"choices\": [\"d\"], \"answer\": 0}\n");
  const std::vector<ScoredSet> sets = open_scored_sets(options(), {.choices = file.path()});
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].samples->samples(), 3);
  ASSERT_EQ(sets[0].choices.size(), 2u);
  EXPECT_THAT(sets[0].choices[0].characters, ElementsAre(1, 2));
  EXPECT_THAT(sets[0].choices[0].bytes, ElementsAre(2, 2));
  EXPECT_EQ(sets[0].choices[0].answer, 1);
  EXPECT_EQ(sets[0].choices[1].first, 2);
  EXPECT_THAT(columns_of(*sets[0].samples, 2, 0)[1], ElementsAre(' ', 'd', -1, -1, -1, -1, -1, -1));
}

TEST(ScoredSets, CountWordsAndBytesOfDocuments) {
  const TempFile file("a.jsonl", "{\"text\": \"one \xc3\xa4\"}\n{\"text\": \"two\"}\n");
  const std::vector<ScoredSet> sets =
      open_scored_sets(options(), {.documents = file.path(), .prefix_token_id = 0});
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].words, 3);
  EXPECT_EQ(sets[0].bytes, 9);
  EXPECT_TRUE(sets[0].choices.empty());
  EXPECT_THAT(columns_of(*sets[0].samples, 1, 0)[0], ElementsAre(0, 't', 'w', 0, 0, 0, 0, 0));
}

/// Returns the refusal of a file of choices, or of documents.
std::string refusal(const std::string& content, bool is_choices, int64_t prefix = -1) {
  const TempFile file("a.jsonl", content);
  EvaluationConfig evaluation{.prefix_token_id = prefix};
  (is_choices ? evaluation.choices : evaluation.documents) = file.path();
  try {
    open_scored_sets(options(), evaluation);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ScoredSets, RefuseWhatCannotBeScored) {
  const std::string choice = "{\"context\": \"x\", \"answer\": 0, \"choices\": ";
  EXPECT_THAT(refusal(choice + "[\"12345678\"]}\n", true),
              HasSubstr("line 1: choice 0 has 9 tokens, and data.sequence_length is 8; write 9"));
  EXPECT_EQ(refusal(choice + "[\"1234567\"]}\n", true), "");
  EXPECT_THAT(refusal("{\"text\": \"\"}\n", false, 0), HasSubstr("all its documents are empty"));
  EXPECT_THAT(refusal("{\"text\": \"x\"}\n", false), HasSubstr("names neither bos nor eos"));
  EXPECT_THAT(refusal("{\"text\": \"x\"}\n", false, 256),
              HasSubstr("256 is beyond the model's vocabulary"));
  EXPECT_THAT(refusal("{\"input_ids\": [1]}\n", false, 0), HasSubstr("whose words and bytes"));
}

}  // namespace
}  // namespace zero
