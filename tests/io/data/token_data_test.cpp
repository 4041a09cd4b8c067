// Ranks: 1

#include "io/data/token_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "tests/support/counting_tokens.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"
#include "zero/io/data/data_kind.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using testing_support::Counting;

struct Sample {
  std::vector<int32_t> tokens, targets;
};

Sample sample_of(const TokenWindows& data, int64_t position) {
  const size_t width = size_t(data.columns()[0].numel);
  Sample sample{std::vector<int32_t>(width, 77), std::vector<int32_t>(width, 77)};
  const std::array places = {std::as_writable_bytes(std::span(sample.tokens)),
                             std::as_writable_bytes(std::span(sample.targets))};
  data.read(position, places);
  return sample;
}

TEST(TokenWindows, CutsWindowsThatDoNotOverlapAndPredictTheNextToken) {
  const Counting source(11);
  const TokenWindows data(source, {.tokens = 11, .sequence_length = 3});
  EXPECT_EQ(data.samples(), 2);  // 3 tokens are left over
  EXPECT_THAT(sample_of(data, 0).tokens, ElementsAre(100, 101, 102));
  EXPECT_THAT(sample_of(data, 0).targets, ElementsAre(101, 102, 103));
  EXPECT_THAT(sample_of(data, 1).tokens, ElementsAre(104, 105, 106));
  EXPECT_THAT(sample_of(data, 1).targets, ElementsAre(105, 106, 107));
}

TEST(TokenData, AsksAboutATextWhoseNameSaysRecords) {
  for (const auto& [name, is_asked] : {std::pair("a.jsonl", true),
                                       {"a.json", true},
                                       {"a.csv", true},
                                       {"a.parquet", true},
                                       {"a.txt", false},
                                       {"a.text", false}}) {
    const testing_support::TempFile file(name, "a text of some letters");
    const DataSets sets = token_data().open(
        {.data = {.train = file.path(), .sequence_length = 4}, .vocab_size = 256});
    const std::string question = "is " + file.path() + " a text? All of it is learnt";
    EXPECT_EQ(sets.remark.starts_with(question), is_asked) << sets.remark;
  }
}

TEST(TokenWindows, HasColumnsAndShowsTheWholeWindow) {
  const Counting source(11);
  const TokenWindows data(source, {.tokens = 11, .sequence_length = 3});
  EXPECT_THAT(data.columns(), ElementsAre(DataColumn{"tokens", Dtype::i32, 3},
                                          DataColumn{"targets", Dtype::i32, 3}));
  EXPECT_EQ(data.form(), "3 + 1 tokens");
  ASSERT_EQ(data.shown(1).size(), 1u);
  EXPECT_EQ(data.shown(1)[0].name, "tokens");
  EXPECT_TRUE(data.shown(1)[0].is_text);
  EXPECT_THAT(data.shown(1)[0].ids, ElementsAre(104, 105, 106, 107));
}

TEST(TokenWindows, PadsTheTailWithTargetsThatDoNotCount) {
  const Counting source(11);
  const TokenWindows data(source, {.tokens = 11, .sequence_length = 3, .keep_tail = true});
  EXPECT_EQ(data.samples(), 3);
  EXPECT_THAT(sample_of(data, 2).tokens, ElementsAre(108, 109, 0));
  EXPECT_THAT(sample_of(data, 2).targets, ElementsAre(109, 110, -1));
  EXPECT_EQ(data.counted(0, 3), 3 + 3 + 2);
}

TEST(TokenWindows, HasNoTailOfOneToken) {
  const Counting source(9);
  EXPECT_EQ(TokenWindows(source, {.tokens = 9, .sequence_length = 3, .keep_tail = true}).samples(),
            2);
}

TEST(TokenWindows, IsMissingAfterItsEndUnlessShuffled) {
  const Counting source(8);
  const TokenWindows data(source, {.tokens = 8, .sequence_length = 3});
  EXPECT_THAT(sample_of(data, 2).tokens, ElementsAre(0, 0, 0));
  EXPECT_THAT(sample_of(data, 2).targets, ElementsAre(-1, -1, -1));
  EXPECT_EQ(data.counted(1, 5), 3);
}

TEST(TokenWindows, ShuffledVisitsEachSampleOnceAnEpochForEver) {
  const Counting source(40);
  const TokenWindows data(source, {.tokens = 40, .sequence_length = 3, .shuffle_seed = 5});
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<int32_t> firsts;
    for (int64_t i = 0; i < 10; ++i) firsts.insert(sample_of(data, epoch * 10 + i).tokens[0]);
    EXPECT_EQ(firsts.size(), 10u);
  }
  EXPECT_EQ(data.counted(1000, 7), 21);
}

TEST(TokenWindows, CountsTheTailWhereTheShuffleHasPutIt) {
  const Counting source(11);
  const TokenWindows data(
      source, {.tokens = 11, .sequence_length = 3, .keep_tail = true, .shuffle_seed = 5});
  for (int64_t position = 0; position < 9; ++position) {
    int64_t counted = 0;
    for (const int32_t target : sample_of(data, position).targets) counted += target >= 0;
    EXPECT_EQ(data.counted(position, 1), counted);
  }
  EXPECT_EQ(data.counted(3, 3), 8);
}

TEST(TokenWindows, KeepsToItsRangeAndItsMaximum) {
  const Counting source(40);
  const TokenWindows data(source,
                          {.first_token = 8, .tokens = 30, .sequence_length = 3, .max_samples = 2});
  EXPECT_EQ(data.samples(), 2);
  EXPECT_THAT(sample_of(data, 0).tokens, ElementsAre(108, 109, 110));
}

TEST(TokenWindows, RefusesARangeOutsideItsSourceAndSpansOfAnotherLength) {
  const Counting source(8);
  EXPECT_THROW(TokenWindows(source, {.tokens = 9, .sequence_length = 3}), Error);
  EXPECT_THROW(TokenWindows(source, {.tokens = 3, .sequence_length = 3}), Error);
  const TokenWindows data(source, {.tokens = 8, .sequence_length = 3});
  std::vector<int32_t> three(3), four(4);
  const auto three_bytes = std::as_writable_bytes(std::span(three));
  const std::array too_long = {three_bytes, std::as_writable_bytes(std::span(four))};
  EXPECT_THROW(data.read(0, too_long), Error);
  const std::array too_few = {three_bytes};
  EXPECT_THROW(data.read(0, too_few), Error);
}

}  // namespace
}  // namespace zero
