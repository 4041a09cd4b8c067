// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/bpe_folder.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/base/error.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::TempFile;

std::string lines(int count) {
  std::string out = "source,target\n";
  for (int i = 0; i < count; ++i) out += std::string(1, char('a' + i)) + ",xy\n";
  return out;
}

DataOptions options_of(const TempFile& train) {
  return {.data = {.train = train.path(), .sequence_length = 3, .source_length = 2},
          .seed = 1,
          .vocab_size = 256};
}

std::string error_of_pairs(const DataOptions& options, Exit exit = Exit::kInput) {
  try {
    pair_data().open(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), exit);
    return error.what();
  }
  return "no error";
}

/// The first ids of a set's sources, which are one letter each.
std::string letters(const Dataset& data) {
  std::string out;
  for (int64_t i = 0; i < data.samples(); ++i) out += char(data.shown(i)[0].ids[0]);
  return out;
}

TEST(PairData, HoldsOutTheLastPairs) {
  const TempFile file("a.csv", lines(10));
  DataOptions options = options_of(file);
  options.data.validation_fraction = 0.3;
  DataSets sets = pair_data().open(options);
  EXPECT_EQ(letters(*sets.validation), "hij");
  std::string trained = letters(*sets.train);
  EXPECT_NE(trained, "abcdefg") << "shuffled";
  std::ranges::sort(trained);
  EXPECT_EQ(trained, "abcdefg");
  options.data.max_train_samples = 2;
  options.data.max_validation_samples = 1;
  sets = pair_data().open(options);
  EXPECT_EQ(sets.train->samples(), 2);
  EXPECT_EQ(letters(*sets.validation), "h");
}

TEST(PairData, TakesTheValidationFromItsOwnFileOfAnyFormat) {
  const TempFile file("a.csv", lines(3)),
      other("b.jsonl", "{\"source\": \"q\", \"target\": \"\"}\n");
  DataOptions options = options_of(file);
  options.data.validation = other.path();
  const DataSets sets = pair_data().open(options);
  EXPECT_EQ(letters(*sets.validation), "q");
  EXPECT_EQ(sets.validation->counted(0, 9), 1) << "the end alone";
  EXPECT_NE(sets.fingerprint(), pair_data().open(options_of(file)).fingerprint());
}

TEST(PairData, SaysHowManyTextsWereCut) {
  const TempFile file("a.csv", lines(3) + "long,longer\nz,y\n");
  DataOptions options = options_of(file);
  EXPECT_EQ(pair_data().open(options).remark,
            "in training 1 source cut to 2 tokens, 1 target to 3");
  const TempFile other("b.csv", lines(1) + "zz,yy\n");
  options.data.validation = other.path();
  EXPECT_EQ(pair_data().open(options).remark,
            "in training 1 source cut to 2 tokens, 1 target to 3; in validation 1 source cut to 2 "
            "tokens, 0 targets to 3");
  options.data.validation = "";
  options.data.max_train_samples = 3;
  EXPECT_EQ(pair_data().open(options).remark, "");
  options.data.max_train_samples = 0;
  options.data.too_long = TooLong::refuse;
  EXPECT_THAT(error_of_pairs(options), HasSubstr("a.csv: line 5: the source has 5 tokens"));
}

TEST(PairData, SaysWhichTokenATokenizerDoesNotName) {
  const TempFile file("a.csv", lines(3));
  const std::vector<std::pair<std::string, std::string>> merges = {{"h", "e"}};
  const testing_support::BpeFolder folder(merges);
  DataOptions options = options_of(file);
  options.data.tokenizer = folder.path();
  options.vocab_size = 600;
  EXPECT_THAT(
      error_of_pairs(options, Exit::kUsage),
      HasSubstr("does not say which id this is, as it names no pad token; write data.pad_id "
                "= NUMBER, that which the model was trained with"));
  options.ids.pad = 0;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage),
              HasSubstr("write data.pad_id = 0, which config.json of such a model has"));
  options.data.pad_id = 0;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage), HasSubstr("names no eos token"));
}

TEST(PairData, CountsBlankLinesAtTheEnd) {
  const TempFile file("a.csv", lines(3) + "\n");
  EXPECT_EQ(pair_data().open(options_of(file)).remark,
            "in training 1 blank line at the end is passed over");
}

TEST(PairData, CountsEmptyTargets) {
  const TempFile file("a.csv", lines(3) + "z,\n");
  DataOptions options = options_of(file);
  EXPECT_EQ(pair_data().open(options).remark, "in training 1 target is empty");
  const TempFile cut("b.csv", lines(3) + "long,\nz,\n");
  options.data.train = cut.path();
  EXPECT_EQ(pair_data().open(options).remark,
            "in training 1 source cut to 2 tokens, 0 targets to 3, 2 targets are empty");
}

TEST(PairData, TakesTheModelsIdsForBytesAndRefusesOthers) {
  const TempFile file("a.csv", lines(3));
  DataOptions options = options_of(file);
  options.ids.end = 2;
  EXPECT_EQ(error_of_pairs(options), "no error");
  options.data.eos_id = 3;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage),
              HasSubstr("data.eos_id: id 3, but config.json"));
  options.data.tokenizer = (testing_support::tree_folder() / "tests/golden/pieces").string();
  options.vocab_size = 600;
  options.data.eos_id = -1;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage),
              HasSubstr("as the tokenizer says, but config.json"));
}

TEST(PairData, NamesTheIdsThatATokenizerDoesNotSay) {
  const TempFile file("a.csv", lines(3));
  DataOptions options = options_of(file);
  options.data.pad_id = 256;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage),
              HasSubstr("data.pad_id: 256 is beyond the model's"));
  options.vocab_size = 257;
  EXPECT_EQ(error_of_pairs(options), "no error");
  options.data.tokenizer = (testing_support::tree_folder() / "tests/golden/bpe").string();
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage), HasSubstr("data.eos_id: the tokenizer "));
  options = options_of(file);
  options.vocab_size = 200;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage), HasSubstr("model.vocab_size = 256 or more"));
}

TEST(PairData, SourcesAreAsLongAsTargetsIfNothingIsSaid) {
  DataOptions options{.data = {.sequence_length = 3}};
  EXPECT_EQ(pair_data().columns(options)[0].numel, 3);
  options.data.source_length = 5;
  EXPECT_EQ(pair_data().columns(options)[0].numel, 5);
}

TEST(PairData, NamesAllFilesThatItReads) {
  EXPECT_THAT(pair_data().files({.data = {.train = "a.source", .validation = "b.csv"}}),
              ElementsAre("a.source", "b.csv", "a.target"));
}

TEST(PairData, MakesSyntheticPairsThatSaySo) {
  const DataOptions options{.data = {.train = "synthetic",
                                     .sequence_length = 3,
                                     .max_train_samples = 5,
                                     .source_length = 2},
                            .vocab_size = 10};
  const DataSets sets = pair_data().open(options);
  EXPECT_TRUE(sets.synthetic);
  EXPECT_EQ(sets.train->samples(), 5);
  EXPECT_EQ(sets.train->counted(0, 4), 12);
  EXPECT_EQ(sets.train->shown(1)[0].ids.size(), 2u);
}

}  // namespace
}  // namespace zero
