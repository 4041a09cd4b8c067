// Ranks: 1
#include "zero/io/data/dataset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::TempFile;

std::vector<int64_t> epoch_of(const SampleOrder& order, int64_t samples, int64_t epoch) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < samples; ++i) out.push_back(order.sample(epoch * samples + i));
  return out;
}

TEST(SampleOrder, VisitsEverySampleOnceInEveryEpoch) {
  for (int64_t n = 1; n <= 1000; ++n) {
    const SampleOrder order(42, n);
    for (const int64_t epoch : {0, 3}) {
      std::vector<bool> seen(size_t(n), false);
      for (const int64_t sample : epoch_of(order, n, epoch)) {
        ASSERT_TRUE(sample >= 0 && sample < n) << n;
        ASSERT_FALSE(seen[size_t(sample)]) << n;
        seen[size_t(sample)] = true;
      }
    }
  }
}

TEST(SampleOrder, DiffersFromEpochToEpochAndSeedToSeed) {
  std::set<std::vector<int64_t>> orders;
  for (int64_t epoch = 0; epoch < 20; ++epoch)
    orders.insert(epoch_of(SampleOrder(1, 100), 100, epoch));
  for (uint64_t seed = 2; seed < 22; ++seed)
    orders.insert(epoch_of(SampleOrder(seed, 100), 100, 0));
  EXPECT_EQ(orders.size(), 40u);
}

TEST(SampleOrder, IsAFunctionOfItsArguments) {
  EXPECT_EQ(epoch_of(SampleOrder(5, 77), 77, 2), epoch_of(SampleOrder(5, 77), 77, 2));
}

TEST(SampleOrder, SpreadsEveryPositionOverAllSamples) {
  // The first sample of 3000 epochs, among 30: 100 times each, five standard deviations aside.
  std::vector<int> first(30);
  const SampleOrder order(9, 30);
  for (int64_t epoch = 0; epoch < 3000; ++epoch) ++first[size_t(order.sample(epoch * 30))];
  for (const int count : first) EXPECT_NEAR(count, 100, 50);
}

TEST(SampleOrder, WorksOnManySamplesAndLatePositions) {
  const int64_t many = int64_t(1) << 40;
  const SampleOrder order(3, many + 1);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 1000; ++i) seen.insert(order.sample(5 * (many + 1) + i));
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_LE(*seen.rbegin(), many);
}

TEST(SampleOrder, RefusesNoSamplesAndPositionsBelowZero) {
  EXPECT_THROW(SampleOrder(1, 0), Error);
  EXPECT_THROW(SampleOrder(1, 5).sample(-1), Error);
}

/// Five pictures of four pixels, each with its class: picture i is of class 10 + i.
class Pictures : public Dataset {
 public:
  explicit Pictures(std::optional<uint64_t> seed = {})
      : Dataset(
            {{.name = "pixels", .dtype = Dtype::f32, .numel = 4}, {.name = "class", .numel = 1}}, 5,
            seed) {}
  std::string form() const override { return "4 pixels and a class"; }

 private:
  void read_sample(int64_t sample, ColumnSpans out) const override {
    std::ranges::fill(values_in<float>(out[0]), 0.5f + float(sample));
    values_in<int32_t>(out[1])[0] = sample < samples() ? int32_t(10 + sample) : kNotCounted;
  }
  int64_t counted_in(int64_t sample) const override { return sample < samples() ? 1 : 0; }
};

TEST(Dataset, ReadsColumnsOfSeveralTypesAndLengths) {
  std::vector<float> pixels(4);
  std::vector<int32_t> label(1);
  const std::array places = {std::as_writable_bytes(std::span(pixels)),
                             std::as_writable_bytes(std::span(label))};
  Pictures().read(2, places);
  EXPECT_THAT(pixels, ElementsAre(2.5f, 2.5f, 2.5f, 2.5f));
  EXPECT_THAT(label, ElementsAre(12));
  EXPECT_THROW(Pictures().read(2, ColumnSpans(places).first(1)), Error);
  const std::array swapped = {places[1], places[0]};
  EXPECT_THROW(Pictures().read(2, swapped), Error);
}

TEST(Dataset, CountsWhatIsThereAndShufflesForEver) {
  EXPECT_EQ(Pictures().counted(3, 4), 2);
  const Pictures shuffled(7);
  std::vector<int32_t> classes;
  for (int64_t i = 5; i < 10; ++i) classes.push_back(shuffled.shown(i)[0].ids[0]);
  std::ranges::sort(classes);
  EXPECT_THAT(classes, ElementsAre(10, 11, 12, 13, 14));
  EXPECT_EQ(shuffled.counted(3, 4), 4);
}

TEST(Dataset, ShowsTheColumnsOfIds) {
  const std::vector<ShownIds> shown = Pictures().shown(1);
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0].name, "class");
  EXPECT_THAT(shown[0].ids, ElementsAre(11));
  EXPECT_FALSE(shown[0].is_text);
}

/// Each byte of the text is another one: 'A', 'B', ...
std::string alphabet(int letters) {
  std::string out;
  for (int i = 0; i < letters; ++i) out += char('!' + i);
  return out;
}

DataOptions options_of(const TempFile& train) {
  return {.train = train.path(), .sequence_length = 3, .vocab_size = 256, .seed = 1};
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
    options.validation_fraction = fraction;
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
  options.validation = other.path();
  const DataSets sets = token_data().open(options);
  EXPECT_EQ(sets.train->samples(), 3);
  EXPECT_EQ(sets.validation->samples(), 1);
  EXPECT_EQ(sets.validation->counted(0, 1), 1);
  EXPECT_FALSE(token_data().open(options_of(text)).validation != nullptr);
}

TEST(OpenData, CutsBothSetsToTheirMaximum) {
  const TempFile text("a.txt", alphabet(40));
  DataOptions options = options_of(text);
  options.validation_fraction = 0.5;
  options.max_train_samples = 2;
  options.max_validation_samples = 3;
  const DataSets sets = token_data().open(options);
  EXPECT_EQ(sets.train->samples(), 2);
  EXPECT_EQ(sets.validation->samples(), 3);
}

TEST(OpenData, RefusesWhatIsTooShortOrLeavesNothingToTrainOn) {
  const TempFile text("a.txt", "abc"), window("b.txt", "abcd"), one("c.txt", "x");
  EXPECT_THAT(error_of_data(options_of(text)), HasSubstr("3 tokens hold no sample of 4"));
  DataOptions options = options_of(window);
  EXPECT_EQ(error_of_data(options), "no error");
  options.validation_fraction = 0.1;
  EXPECT_THAT(error_of_data(options), HasSubstr("leave none to train on"));
  options.validation_fraction = 0;
  options.validation = one.path();
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
      .train = "synthetic", .sequence_length = 3, .max_train_samples = 5, .vocab_size = 10};
  const DataSets sets = token_data().open(options);
  EXPECT_TRUE(sets.synthetic);
  EXPECT_EQ(sets.train->samples(), 5);
  EXPECT_EQ(sets.train->counted(0, 4), 12);
}

TEST(DataSets, FingerprintChangesWithEitherFile) {
  const TempFile text("a.txt", alphabet(12)), other("b.txt", "xyz");
  DataOptions options = options_of(text);
  const uint64_t alone = token_data().open(options).fingerprint();
  options.validation = other.path();
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
