// Ranks: 1
#include "zero/train/evaluator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/support/temp_file.hpp"

namespace zero::train {
namespace {

using Ids = std::vector<int32_t>;
using ::testing::ElementsAre;

constexpr int32_t kStart = 0, kEnd = 1;

/// Ten pairs, of which the last four are held out; targets are cut to 11 bytes and the end.
class HeldOutPairs {
 public:
  /// The source of a `polite` one is longer.
  explicit HeldOutPairs(int polite = -1) : file_("pairs.tsv", text_of_pairs(polite)) {
    sets_ = pair_data().open({.data = {.train = file_.path(),
                                       .validation_fraction = 0.4,
                                       .sequence_length = 12,
                                       .source_prefix = "add ",
                                       .source_length = 20},
                              .vocab_size = 256});
  }
  const Dataset& validation() const { return *sets_.validation; }
  void group(const std::vector<LengthPair>& pairs) { sets_.validation->group(pairs, 2); }

 private:
  static std::string text_of_pairs(int polite) {
    std::string lines = "source\ttarget\n";
    for (int i = 0; i < 10; ++i) {
      lines += std::to_string(i) + " and 1" + (i == polite ? " please" : "") +
               "\tthe sum of both is " + std::to_string(i + 1) + "\n";
    }
    return lines;
  }

  testing_support::TempFile file_;
  DataSets sets_;
};

Ids ids_of(const std::string& text) {
  Ids ids = {kStart};
  for (const char c : text) ids.push_back(uint8_t(c));
  ids.push_back(kEnd);
  return ids;
}

std::string words_of(const Ids& source) { return {source.begin(), source.end() - 1}; }

TEST(Answer, CountsTextsBesideTheTargetsAsTheFileHasThem) {
  const HeldOutPairs pairs;
  const auto tokenizer = open_tokenizer("bytes");
  std::vector<std::string> asked;
  const Answers answers =
      answer(pairs.validation(), 0, *tokenizer, [&](std::span<const Ids> sources) {
        std::vector<Ids> texts;
        for (const Ids& source : sources) {
          EXPECT_EQ(source.back(), kEnd);
          asked.push_back(words_of(source));
          const int number = asked.back()[4] - '0';
          // Three are right, one is not.
          texts.push_back(ids_of("the sum of both is " + std::to_string(number + (number != 7))));
        }
        return texts;
      });
  EXPECT_THAT(asked, ElementsAre("add 6 and 1", "add 7 and 1", "add 8 and 1", "add 9 and 1"));
  EXPECT_EQ(answers.texts,
            "the sum of both is 7\nthe sum of both is 7\nthe sum of both is 9\n"
            "the sum of both is 10\n");
  EXPECT_EQ(answers.targets,
            "the sum of both is 7\nthe sum of both is 8\nthe sum of both is 9\n"
            "the sum of both is 10\n");
  EXPECT_EQ(answers.counts.texts, 4);
  EXPECT_EQ(model::exact_match(answers.counts), 0.75);
  // 24 tokens, 1 of them other: precisions 23/24, 19/20, 15/16, 11/12.
  EXPECT_NEAR(model::bleu(answers.counts),
              100 * std::pow(23.0 / 24 * 19 / 20 * 15 / 16 * 11 / 12, 0.25), 1e-9);
}

TEST(Answer, GoesThroughTheFileWhereSamplesStandByTheirLengths) {
  HeldOutPairs pairs(6);
  pairs.group({{12, 12}, {20, 12}});
  EXPECT_NE(pairs.validation().sample_at(0), 0) << "the order is another one";
  const auto tokenizer = open_tokenizer("bytes");
  std::vector<std::string> asked;
  const Answers answers =
      answer(pairs.validation(), 0, *tokenizer, [&](std::span<const Ids> sources) {
        for (const Ids& source : sources) asked.push_back(words_of(source));
        return std::vector<Ids>(sources.size(), {kStart, kEnd});
      });
  EXPECT_THAT(asked,
              ElementsAre("add 6 and 1 please", "add 7 and 1", "add 8 and 1", "add 9 and 1"));
  EXPECT_EQ(answers.targets,
            "the sum of both is 7\nthe sum of both is 8\nthe sum of both is 9\n"
            "the sum of both is 10\n");
}

TEST(Answer, AsksTheFirstOfThemAndWritesOneLineEach) {
  const HeldOutPairs pairs;
  const auto tokenizer = open_tokenizer("bytes");
  const Answers answers =
      answer(pairs.validation(), 2, *tokenizer, [&](std::span<const Ids> sources) {
        EXPECT_EQ(sources.size(), 2u);
        return std::vector<Ids>{ids_of("two\nlines"), {kStart, 'a', 0xC3, 255, 300}};
      });
  EXPECT_EQ(answers.counts.texts, 2);
  EXPECT_EQ(answers.texts, "two lines\na\xEF\xBF\xBD\xEF\xBF\xBD\n")
      << "what is no character is shown as one, what the tokenizer does not know is left out";
  EXPECT_EQ(model::exact_match(answers.counts), 0);
}

}  // namespace
}  // namespace zero::train
