// Ranks: 1
#include "zero/io/data/data_kind.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;
using testing_support::TempFile;

/// Each byte of the text is another one: 'A', 'B', ...
std::string alphabet(int letters) {
  std::string out;
  for (int i = 0; i < letters; ++i) out += char('!' + i);
  return out;
}

DataOptions options_of(const TempFile& train) {
  return {.data = {.train = train.path(), .sequence_length = 3}, .seed = 1, .vocab_size = 256};
}

std::string error_of_data(const DataOptions& options) {
  try {
    token_data().open(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput);
    return error.what();
  }
  return "no error";
}

/// Adds to `seen` how often each byte is an input token or the last target of a sample.
void count_bytes(const Dataset& data, std::vector<int>& seen) {
  const size_t width = size_t(data.columns()[0].numel);
  std::vector<int32_t> tokens(width), targets(width);
  const std::array places = {std::as_writable_bytes(std::span(tokens)),
                             std::as_writable_bytes(std::span(targets))};
  for (int64_t i = 0; i < data.samples(); ++i) {
    data.read(i, places);
    for (size_t t = 0; t < width; ++t) {
      const bool counts = targets[t] >= 0, last = t + 1 == width || targets[t + 1] < 0;
      if (counts) ++seen[size_t(tokens[t])];
      if (counts && last) ++seen[size_t(targets[t])];
    }
  }
}

TEST(OpenData, SplitsAtASampleSoThatEachTokenIsInOneSetOnce) {
  const TempFile text("a.txt", alphabet(43));  // 10 windows of 4, and 3 bytes
  for (const double fraction : {0.1, 0.25, 0.5, 0.9}) {
    DataOptions options = options_of(text);
    options.data.validation_fraction = fraction;
    const DataSets sets = token_data().open(options);
    std::vector<int> seen(256);
    count_bytes(*sets.train, seen);
    count_bytes(*sets.validation, seen);
    for (int i = 0; i < 43; ++i) EXPECT_EQ(seen[size_t('!' + i)], 1) << i << " at " << fraction;
    EXPECT_EQ(sets.train->samples() + sets.validation->samples(), 11);
  }
}

TEST(OpenData, TakesTheValidationFromItsOwnFile) {
  const TempFile text("a.txt", alphabet(12)), other("b.txt", "xy");
  DataOptions options = options_of(text);
  options.data.validation = other.path();
  const DataSets sets = token_data().open(options);
  EXPECT_EQ(sets.train->samples(), 3);
  EXPECT_EQ(sets.validation->samples(), 1);
  EXPECT_EQ(sets.validation->counted(0, 1), 1);
  EXPECT_FALSE(token_data().open(options_of(text)).validation != nullptr);
}

TEST(OpenData, CutsBothSetsToTheirMaximum) {
  const TempFile text("a.txt", alphabet(40));
  DataOptions options = options_of(text);
  options.data.validation_fraction = 0.5;
  options.data.max_train_samples = 2;
  options.data.max_validation_samples = 3;
  const DataSets sets = token_data().open(options);
  EXPECT_EQ(sets.train->samples(), 2);
  EXPECT_EQ(sets.validation->samples(), 3);
}

TEST(OpenData, RefusesWhatIsTooShortOrLeavesNothingToTrainOn) {
  const TempFile text("a.txt", "abc"), window("b.txt", "abcd"), one("c.txt", "x");
  EXPECT_THAT(error_of_data(options_of(text)), HasSubstr("3 tokens hold no sample of 4"));
  DataOptions options = options_of(window);
  EXPECT_EQ(error_of_data(options), "no error");
  options.data.validation_fraction = 0.1;
  EXPECT_THAT(error_of_data(options), HasSubstr("leave none to train on"));
  options.data.validation_fraction = 0;
  options.data.validation = one.path();
  EXPECT_THAT(error_of_data(options), HasSubstr("1 token holds no sample"));
}

TEST(OpenData, RefusesAVocabularyThatTheModelDoesNotHave) {
  const TempFile text("a.txt", alphabet(12));
  DataOptions options = options_of(text);
  options.vocab_size = 100;
  EXPECT_THAT(error_of_data(options), HasSubstr("write model.vocab_size = 256 or more"));
}

TEST(OpenData, MakesSyntheticSamplesThatSaySo) {
  const DataOptions options = {
      .data = {.train = "synthetic", .sequence_length = 3, .max_train_samples = 5},
      .vocab_size = 10};
  const DataSets sets = token_data().open(options);
  EXPECT_TRUE(sets.synthetic);
  EXPECT_EQ(sets.train->samples(), 5);
  EXPECT_EQ(sets.train->counted(0, 4), 12);
}

TEST(Classes, TakeTheModelsOrderIfItKnowsTheSameNames) {
  using Names = std::vector<std::string>;
  const Names classes = {"a", "b", "c"};
  EXPECT_EQ(in_known_order(classes, {"b", "c", "a"}), (Names{"b", "c", "a"}));
  EXPECT_EQ(in_known_order(classes, {"b", "c", "d"}), classes);
  EXPECT_EQ(in_known_order(classes, {"b", "a"}), classes);
  EXPECT_EQ(in_known_order(classes, {}), classes);
}

TEST(DataSets, FingerprintChangesWithEitherFile) {
  const TempFile text("a.txt", alphabet(12)), other("b.txt", "xyz");
  DataOptions options = options_of(text);
  const uint64_t alone = token_data().open(options).fingerprint();
  options.data.validation = other.path();
  const uint64_t both = token_data().open(options).fingerprint();
  EXPECT_NE(alone, both);
  other.write("xyw");
  EXPECT_NE(token_data().open(options).fingerprint(), both);
  other.write("xyz");
  EXPECT_EQ(token_data().open(options).fingerprint(), both);
  text.write(alphabet(11) + "!");
  EXPECT_NE(token_data().open(options).fingerprint(), both);
}

}  // namespace
}  // namespace zero
