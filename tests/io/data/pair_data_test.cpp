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
  return {.train = train.path(),
          .sequence_length = 3,
          .vocab_size = 256,
          .seed = 1,
          .pairs = {.source_length = 2}};
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
  options.validation_fraction = 0.3;
  DataSets sets = pair_data().open(options);
  EXPECT_EQ(letters(*sets.validation), "hij");
  std::string trained = letters(*sets.train);
  EXPECT_NE(trained, "abcdefg") << "shuffled";
  std::ranges::sort(trained);
  EXPECT_EQ(trained, "abcdefg");
  options.max_train_samples = 2;
  options.max_validation_samples = 1;
  sets = pair_data().open(options);
  EXPECT_EQ(sets.train->samples(), 2);
  EXPECT_EQ(letters(*sets.validation), "h");
}

TEST(PairData, TakesTheValidationFromItsOwnFileOfAnyFormat) {
  const TempFile file("a.csv", lines(3)),
      other("b.jsonl", "{\"source\": \"q\", \"target\": \"\"}\n");
  DataOptions options = options_of(file);
  options.validation = other.path();
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
  options.validation = other.path();
  EXPECT_EQ(pair_data().open(options).remark,
            "in training 1 source cut to 2 tokens, 1 target to 3; in validation 1 source cut to 2 "
            "tokens, 0 targets to 3");
  options.validation = "";
  options.max_train_samples = 3;
  EXPECT_EQ(pair_data().open(options).remark, "");
  options.max_train_samples = 0;
  options.pairs.refuse_long = true;
  EXPECT_THAT(error_of_pairs(options), HasSubstr("a.csv: line 5: the source has 5 tokens"));
}

TEST(PairData, SaysWhichTokenATokenizerDoesNotName) {
  const TempFile file("a.csv", lines(3));
  const std::vector<std::pair<std::string, std::string>> merges = {{"h", "e"}};
  const testing_support::BpeFolder folder(merges);
  DataOptions options = options_of(file);
  options.tokenizer = folder.path();
  options.vocab_size = 600;
  EXPECT_THAT(
      error_of_pairs(options, Exit::kUsage),
      HasSubstr("does not say which id this is, as it names no pad token; write data.pad_id "
                "= NUMBER, that which the model was trained with"));
  options.pairs.model_pad = 0;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage),
              HasSubstr("write data.pad_id = 0, which config.json of such a model has"));
  options.pairs.pad_id = 0;
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
  options.train = cut.path();
  EXPECT_EQ(pair_data().open(options).remark,
            "in training 1 source cut to 2 tokens, 0 targets to 3, 2 targets are empty");
}

TEST(PairData, TakesNoSpansOutOfAFileOfPairs) {
  const TempFile file("a.csv", lines(9));
  DataOptions options = options_of(file);
  options.pairs.noise_density = 0.15;
  options.sequence_length = options.pairs.source_length = 20;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage),
              HasSubstr("a.csv is a file of pairs by its name, and spans are taken out of a text"));
}

TEST(PairData, TakesTheModelsIdsForBytesAndRefusesOthers) {
  const TempFile file("a.csv", lines(3));
  DataOptions options = options_of(file);
  options.pairs.model_end = 2;
  EXPECT_EQ(error_of_pairs(options), "no error");
  options.pairs.end_id = 3;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage),
              HasSubstr("data.eos_id: id 3, but config.json"));
  options.tokenizer = (testing_support::tree_folder() / "tests/golden/pieces").string();
  options.vocab_size = 600;
  options.pairs.end_id = -1;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage),
              HasSubstr("as the tokenizer says, but config.json"));
}

TEST(PairData, NamesTheIdsThatATokenizerDoesNotSay) {
  const TempFile file("a.csv", lines(3));
  DataOptions options = options_of(file);
  options.pairs.pad_id = 256;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage),
              HasSubstr("data.pad_id: 256 is beyond the model's"));
  options.vocab_size = 257;
  EXPECT_EQ(error_of_pairs(options), "no error");
  options.tokenizer = (testing_support::tree_folder() / "tests/golden/bpe").string();
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage), HasSubstr("data.eos_id: the tokenizer "));
  options = options_of(file);
  options.vocab_size = 200;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage), HasSubstr("model.vocab_size = 256 or more"));
}

TEST(PairData, SourcesAreAsLongAsTargetsIfNothingIsSaid) {
  DataOptions options{.sequence_length = 3};
  EXPECT_EQ(pair_data().columns(options)[0].numel, 3);
  options.pairs.source_length = 5;
  EXPECT_EQ(pair_data().columns(options)[0].numel, 5);
}

TEST(PairData, NamesAllFilesThatItReads) {
  EXPECT_THAT(pair_data().files({.train = "a.source", .validation = "b.csv"}),
              ElementsAre("a.source", "b.csv", "a.target"));
}

TEST(PairData, MakesSyntheticPairsThatSaySo) {
  const DataOptions options{.train = "synthetic",
                            .sequence_length = 3,
                            .max_train_samples = 5,
                            .vocab_size = 10,
                            .pairs = {.source_length = 2}};
  const DataSets sets = pair_data().open(options);
  EXPECT_TRUE(sets.synthetic);
  EXPECT_EQ(sets.train->samples(), 5);
  EXPECT_EQ(sets.train->counted(0, 4), 12);
  EXPECT_EQ(sets.train->shown(1)[0].ids.size(), 2u);
}

DataOptions noisy(const TempFile& train) {
  DataOptions options = options_of(train);
  options.sequence_length = 20;
  options.vocab_size = 260;
  options.pairs.source_length = 20;
  options.pairs.noise_density = 0.25;
  return options;
}

TEST(PairData, MendsTextsWhereADensityOfNoiseIsSaid) {
  const TempFile text("a.txt", std::string(400, 'x'));
  DataOptions options = noisy(text);
  options.validation_fraction = 0.5;
  const DataSets sets = pair_data().open(options);
  EXPECT_EQ(sets.train->form(), "23 tokens of text, 6 of them in 2 spans to be found again");
  EXPECT_EQ(sets.train->samples(), 8);
  EXPECT_EQ(sets.validation->samples(), 10) << "with a tail";
  EXPECT_EQ(sets.train->counted(0, 1), 6 + 2 + 2);
  EXPECT_THAT(sets.train->shown(0)[2].ids,
              ::testing::AllOf(::testing::Contains(259), ::testing::Contains(257)));
}

TEST(PairData, SentinelsNeedIdsThatNoTextHas) {
  const TempFile text("a.txt", std::string(400, 'x'));
  DataOptions options = noisy(text);
  options.vocab_size = 258;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage),
              HasSubstr("write model.vocab_size = 259 or more"));
  options.pairs.sentinel_id = 255;
  EXPECT_EQ(error_of_pairs(options), "no error");
  options.pairs.sentinel_id = 258;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage), HasSubstr("data.sentinel_id"));
  options = noisy(text);
  options.sequence_length = 3;
  EXPECT_THAT(error_of_pairs(options, Exit::kUsage), HasSubstr("no text of 2 tokens or more fits"));
  text.write("too short");
  EXPECT_THAT(error_of_pairs(noisy(text)), HasSubstr("9 tokens hold no sample, which takes 23"));
}

}  // namespace
}  // namespace zero
