// Ranks: 1

#include "io/data/encoded_pairs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <set>
#include <vector>

#include "tests/support/pair_sample.hpp"
#include "tests/support/temp_file.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::sample_of;
using testing_support::TempFile;
using Sample = testing_support::PairSample;

constexpr int32_t kPad = 0, kEnd = 1, kStart = 2;
const char* const kLines = "en\tro\nab\tcde\nfghij\tk\n\tlmnop\n";

EncodedPairs::Options options_of(const TempFile& file) {
  return {
      .path = file.path(),
      .fields = {"en", "ro"},
      .form = {.source_length = 4, .target_length = 5, .pad = kPad, .end = kEnd, .start = kStart}};
}

std::shared_ptr<const Tokenizer> byte_tokenizer() { return open_tokenizer("bytes"); }

/// All pairs of a file as samples in their order.
struct Samples {
  explicit Samples(const EncodedPairs::Options& options)
      : pairs(options, byte_tokenizer()),
        data(pairs, options.form, pairs.add(0, pairs.pairs()), pairs.pairs(), std::nullopt) {}

  EncodedPairs pairs;
  PairSamples data;
};

TEST(PairSamples, HaveTheirFourColumns) {
  const TempFile file("a.tsv", kLines);
  const Samples samples(options_of(file));
  EXPECT_EQ(samples.data.samples(), 3);
  EXPECT_THAT(
      samples.data.columns(),
      ElementsAre(DataColumn{"source", Dtype::i32, 4}, DataColumn{"source_count", Dtype::i32, 1},
                  DataColumn{"previous", Dtype::i32, 5}, DataColumn{"next", Dtype::i32, 5}));
  const Sample first = sample_of(samples.data, 0);
  EXPECT_THAT(first.source, ElementsAre('a', 'b', kEnd, kPad));
  EXPECT_EQ(first.count, 3);
  EXPECT_THAT(first.previous, ElementsAre(kStart, 'c', 'd', 'e', kEnd));
  EXPECT_THAT(first.next, ElementsAre('c', 'd', 'e', kEnd, -1));
}

TEST(PairSamples, AreCutInFrontOfTheirEndAndThatIsCounted) {
  const TempFile file("a.tsv", kLines);
  const Samples samples(options_of(file));
  const Sample second = sample_of(samples.data, 1), third = sample_of(samples.data, 2);
  EXPECT_THAT(second.source, ElementsAre('f', 'g', 'h', kEnd));
  EXPECT_EQ(second.count, 4);
  EXPECT_THAT(second.previous, ElementsAre(kStart, 'k', kEnd, kPad, kPad));
  EXPECT_THAT(third.source, ElementsAre(kEnd, kPad, kPad, kPad));
  EXPECT_EQ(third.count, 1);
  EXPECT_THAT(third.next, ElementsAre('l', 'm', 'n', 'o', kEnd));
  EXPECT_EQ(samples.pairs.cut_sources(), 1);
  EXPECT_EQ(samples.pairs.cut_targets(), 1);
  EXPECT_EQ(samples.data.counted(0, 3), 4 + 2 + 5);
}

TEST(PairSamples, BehindTheEndNothingCountsAndOnePlaceCanBeLookedAt) {
  const TempFile file("a.tsv", kLines);
  const Samples samples(options_of(file));
  const Sample missing = sample_of(samples.data, 3);
  EXPECT_THAT(missing.next, ElementsAre(-1, -1, -1, -1, -1));
  EXPECT_THAT(missing.previous, ElementsAre(kStart, kPad, kPad, kPad, kPad));
  EXPECT_EQ(missing.count, 1);
  EXPECT_EQ(samples.data.counted(2, 5), 5);
}

TEST(PairSamples, AreShownWithoutPadding) {
  const TempFile file("a.tsv", kLines);
  const Samples samples(options_of(file));
  const std::vector<ShownIds> shown = samples.data.shown(0);
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_THAT(shown[0].ids, ElementsAre('a', 'b', kEnd));
  EXPECT_TRUE(shown[0].is_text);
  EXPECT_EQ(shown[1].name, "start");
  EXPECT_FALSE(shown[1].is_text);
  EXPECT_THAT(shown[2].ids, ElementsAre('c', 'd', 'e', kEnd));
  EXPECT_EQ(samples.data.form(), "at most 4 + 5 tokens");
}

TEST(EncodedPairs, PutThePrefixInFrontOfSourcesAlone) {
  const TempFile file("a.tsv", kLines);
  EncodedPairs::Options options = options_of(file);
  options.prefix = "x:";
  const Sample first = sample_of(Samples(options).data, 0);
  EXPECT_THAT(first.source, ElementsAre('x', ':', 'a', kEnd));
  EXPECT_THAT(first.next, ElementsAre('c', 'd', 'e', kEnd, -1));
}

TEST(EncodedPairs, RefuseALongTextByItsLineWhereThatIsAsked) {
  const TempFile file("a.tsv", kLines);
  EncodedPairs::Options options = options_of(file);
  options.refuse_long = true;
  try {
    Samples{options};
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput);
    EXPECT_EQ(error.what(), file.path() +
                                ": line 3: the source has 6 tokens with its end, but "
                                "data.source_length = 4; write 6 or more, or data.too_long = "
                                "\"cut\"");
  }
  options.form.source_length = options.form.target_length = 6;
  EXPECT_NO_THROW(EncodedPairs(options, byte_tokenizer()).add(0, 3));
}

TEST(EncodedPairs, EncodeTheRowsThatAreAskedFor) {
  const TempFile file("a.tsv", kLines);
  EncodedPairs pairs(options_of(file), byte_tokenizer());
  EXPECT_EQ(pairs.add(2, 1), 0);
  EXPECT_EQ(pairs.add(0, 1), 1);
  EXPECT_EQ(pairs.target_length(0), 5);
  EXPECT_EQ(pairs.source_length(1), 3);
  EXPECT_EQ(pairs.items(), 3);
  EXPECT_EQ(pairs.vocab_size(), 256);
}

TEST(EncodedPairs, FingerprintChangesWithWhatASampleIsMadeOf) {
  const TempFile file("a.tsv", kLines);
  const EncodedPairs::Options options = options_of(file);
  const auto print = [](const EncodedPairs::Options& one) {
    return EncodedPairs(one, byte_tokenizer()).fingerprint();
  };
  const uint64_t first = print(options);
  EncodedPairs::Options prefixed = options, swapped = options, ended = options, longer = options;
  prefixed.prefix = "x";
  swapped.fields = {"ro", "en"};
  ended.form.end = 3;
  longer.form.source_length = 9;
  EXPECT_NE(print(prefixed), first);
  EXPECT_NE(print(swapped), first);
  EXPECT_NE(print(ended), first);
  EXPECT_EQ(print(longer), first);
  file.write(std::string(kLines) + "q\tr\n");
  EXPECT_NE(print(options), first);
}

TEST(EncodedPairs, TellTargetsAsTheFileHasThemAndCountEmptyOnes) {
  const TempFile file("a.tsv", "en\tro\na\tlonger than four\nb\t\nc\td\n");
  EncodedPairs::Options options = options_of(file);
  options.form.target_length = 4;
  EncodedPairs pairs(options, byte_tokenizer());
  const int64_t third = pairs.add(2, 1), others = pairs.add(0, 2);
  EXPECT_EQ(pairs.target_text(third), "d");
  EXPECT_EQ(pairs.target_text(others), "longer than four");
  EXPECT_EQ(pairs.target_text(others + 1), "");
  EXPECT_EQ(pairs.target_length(others), 4);
  EXPECT_EQ(pairs.empty_targets(), 1);
  const PairSamples samples(pairs, options.form, others, 2, std::nullopt);
  EXPECT_EQ(samples.target_text(0), "longer than four");
}

/// 3 of the 8 pairs have 2 tokens on either side, the others 4 and 5.
const char* const kMixed =
    "en\tro\na\tb\nabc\tabcd\nbcd\tbcde\nb\tc\ncde\tcdef\nc\td\ndef\tdefg\n"
    "efg\tefgh\n";
const std::vector<LengthPair> kTwoPairs = {{2, 2}, {4, 5}};

std::vector<int32_t> source_in(const Dataset& data, int64_t position, size_t form) {
  std::vector<std::vector<std::byte>> columns;
  std::vector<std::span<std::byte>> places;
  for (const DataColumn& column : data.columns_of(form)) columns.emplace_back(column.bytes());
  for (std::vector<std::byte>& column : columns) places.emplace_back(column);
  data.read(position, form, places);
  const auto ids = values_in<int32_t>(places[0]);
  return {ids.begin(), ids.end()};
}

TEST(GroupedPairs, AreReadInTheShortestFormThatCoversAMicroBatch) {
  const TempFile file("a.tsv", kMixed);
  Samples samples(options_of(file));
  EXPECT_EQ(samples.data.form_of(0, 8), 0u) << "there is one form";
  samples.data.group(kTwoPairs, 2);
  EXPECT_EQ(samples.data.form_of(0, 2), 0u) << "two short ones";
  EXPECT_EQ(samples.data.form_of(2, 2), 1u) << "the third, and a long one";
  EXPECT_EQ(samples.data.form_of(4, 2), 1u);
  EXPECT_EQ(samples.data.columns_of(0)[0].numel, 2);
  EXPECT_EQ(samples.data.columns()[0].numel, 4);
  EXPECT_THAT(source_in(samples.data, 0, 0), ElementsAre('a', kEnd));
  EXPECT_THAT(source_in(samples.data, 0, 1), ElementsAre('a', kEnd, kPad, kPad));
  EXPECT_THROW(source_in(samples.data, 3, 0), Error) << "a long one in a short form";
}

TEST(GroupedPairs, EndWhereTheyAreNotShuffledAndCountTheSame) {
  const TempFile file("a.tsv", kMixed);
  Samples samples(options_of(file));
  const int64_t counted = samples.data.counted(0, 8);
  samples.data.group(kTwoPairs, 2);
  EXPECT_EQ(samples.data.counted(0, 8), counted);
  EXPECT_EQ(samples.data.counted(8, 8), 0);
  EXPECT_EQ(samples.data.form_of(8, 8), 0u);
  std::set<int64_t> met;
  for (int64_t i = 0; i < 8; ++i) met.insert(samples.data.sample_at(i));
  EXPECT_EQ(met.size(), 8u);
}

TEST(GroupedPairs, SayWhatIsPadding) {
  const TempFile file("a.tsv", kMixed);
  Samples samples(options_of(file));
  samples.data.group(kTwoPairs, 2);
  const PaddingReport report = padding_of(samples.data, 2);
  // 3 x 4 + 5 x 9 tokens, in one micro-batch of 2 x 4 and three of 2 x 9.
  EXPECT_THAT(report.shares, ElementsAre(0.25, 0.75));
  EXPECT_DOUBLE_EQ(report.padding, 1 - 57.0 / 62);
  EXPECT_DOUBLE_EQ(report.padding_of_longest, 1 - 57.0 / 72);
}

TEST(GroupedPairs, AreChosenFromTheSamples) {
  const TempFile file("a.tsv", kMixed);
  const Samples samples(options_of(file));
  // Multiples of 8 are longer than these samples may be.
  EXPECT_THAT(choose_form_lengths(samples.data, {4, 5}, 4), ElementsAre(LengthPair{4, 5}));
  EXPECT_THAT(choose_form_lengths(samples.data, {40, 24}, 4),
              ElementsAre(LengthPair{8, 8}, LengthPair{40, 24}));
}

TEST(GroupedPairs, AreRefusedWhereTheLastPairIsNotTheLongest) {
  const TempFile file("a.tsv", kMixed);
  Samples samples(options_of(file));
  EXPECT_THROW(samples.data.group({{2, 2}}, 2), Error);
}

}  // namespace
}  // namespace zero
