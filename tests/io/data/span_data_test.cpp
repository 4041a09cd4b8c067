// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"
#include "zero/io/data/data_kind.hpp"

namespace zero {
namespace {

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

std::string error_of_spans(const DataOptions& options, Exit exit = Exit::kInput) {
  try {
    span_data().open(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), exit);
    return error.what();
  }
  return "no error";
}

TEST(SpanData, TakesNoSpansOutOfAFileOfPairs) {
  const TempFile file("a.csv", lines(9));
  DataOptions options = options_of(file);
  options.data.noise_density = 0.15;
  options.data.sequence_length = options.data.source_length = 20;
  EXPECT_THAT(error_of_spans(options, Exit::kUsage),
              HasSubstr("a.csv is a file of pairs by its name, and spans are taken out of a text"));
}

DataOptions noisy(const TempFile& train) {
  DataOptions options = options_of(train);
  options.data.sequence_length = 20;
  options.vocab_size = 260;
  options.data.source_length = 20;
  options.data.noise_density = 0.25;
  return options;
}

TEST(SpanData, MendsTextsWhereADensityOfNoiseIsSaid) {
  const TempFile text("a.txt", std::string(400, 'x'));
  DataOptions options = noisy(text);
  options.data.validation_fraction = 0.5;
  const DataSets sets = span_data().open(options);
  EXPECT_EQ(sets.train->form(), "23 tokens of text, 6 of them in 2 spans to be found again");
  EXPECT_EQ(sets.train->samples(), 8);
  EXPECT_EQ(sets.validation->samples(), 10) << "with a tail";
  EXPECT_EQ(sets.train->counted(0, 1), 6 + 2 + 2);
  EXPECT_THAT(sets.train->shown(0)[2].ids,
              ::testing::AllOf(::testing::Contains(259), ::testing::Contains(257)));
}

TEST(SpanData, SentinelsNeedIdsThatNoTextHas) {
  const TempFile text("a.txt", std::string(400, 'x'));
  DataOptions options = noisy(text);
  options.vocab_size = 258;
  EXPECT_THAT(error_of_spans(options, Exit::kUsage),
              HasSubstr("write model.vocab_size = 259 or more"));
  options.data.sentinel_id = 255;
  EXPECT_EQ(error_of_spans(options), "no error");
  options.data.sentinel_id = 258;
  EXPECT_THAT(error_of_spans(options, Exit::kUsage), HasSubstr("data.sentinel_id"));
  options = noisy(text);
  options.data.sequence_length = 3;
  EXPECT_THAT(error_of_spans(options, Exit::kUsage), HasSubstr("no text of 2 tokens or more fits"));
  text.write("too short");
  EXPECT_THAT(error_of_spans(noisy(text)), HasSubstr("9 tokens hold no sample, which takes 23"));
}

}  // namespace
}  // namespace zero
