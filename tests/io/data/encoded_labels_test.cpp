// Ranks: 1

#include "io/data/encoded_labels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::refusal_of;
using testing_support::TempFile;

constexpr int32_t kPad = 0, kCls = 1, kSep = 2;
const char* const kLines = "sentence1\tsentence2\tlabel\nab\tc\tyes\ndefgh\tijklm\tno\n\t\tno\n";

LabelForm form_of_length(int64_t length) {
  return {.length = length, .pad = kPad, .cls = kCls, .sep = kSep};
}

EncodedLabels opened(const TempFile& file, const EncodedLabels::Options& options,
                     const LabelFields& fields = {}) {
  return {std::make_shared<LabelFile>(file.path(), fields),
          LabelReader({"no", "yes"}, ClassNames::of_train), options, open_tokenizer("bytes")};
}

std::vector<int32_t> row(const EncodedLabels& source, int64_t number) {
  std::vector<int32_t> ids(size_t(source.length(number)));
  source.copy(number, ids);
  return ids;
}

TEST(EncodedLabels, FrameOneTextOrTwoWithSpecialIds) {
  const TempFile file("e.tsv", kLines);
  EncodedLabels source = opened(file, {.form = form_of_length(20)});
  EXPECT_EQ(source.add(0, 3), 0);
  EXPECT_THAT(row(source, 0), ElementsAre(kCls, 'a', 'b', kSep, 'c', kSep));
  EXPECT_THAT(row(source, 2), ElementsAre(kCls, kSep, kSep)) << "of empty texts";
  EXPECT_EQ(source.label(0), 1);
  EXPECT_EQ(source.label(1), 0);
  EXPECT_EQ(source.cut(), 0);
  EXPECT_EQ(source.format(), "TSV, 2 texts and one of 2 classes");
  const LabelFields one{.texts = {"sentence1"}};
  EncodedLabels single = opened(file, {.form = form_of_length(20)}, one);
  single.add(0, 1);
  EXPECT_THAT(row(single, 0), ElementsAre(kCls, 'a', 'b', kSep));
}

TEST(EncodedLabels, AreCutLongestFirst) {
  const TempFile file("e.tsv", kLines);
  EncodedLabels source = opened(file, {.form = form_of_length(8)});
  EXPECT_EQ(source.add(1, 1), 0);
  EXPECT_THAT(row(source, 0), ElementsAre(kCls, 'd', 'e', kSep, 'i', 'j', 'k', kSep));
  EXPECT_EQ(source.cut(), 1);
  EncodedLabels single = opened(file, {.form = form_of_length(5)}, {.texts = {"sentence2"}});
  single.add(0, 2);
  EXPECT_THAT(row(single, 0), ElementsAre(kCls, 'c', kSep));
  EXPECT_THAT(row(single, 1), ElementsAre(kCls, 'i', 'j', 'k', kSep));
  EXPECT_EQ(single.cut(), 1);
}

TEST(EncodedLabels, RefuseALongSampleByItsLineWhereThatIsAsked) {
  const TempFile file("e.tsv", kLines);
  EncodedLabels source = opened(file, {.form = form_of_length(8), .refuse_long = true});
  EXPECT_EQ(refusal_of(Exit::kInput, [&] { source.add(0, 3); }),
            file.path() +
                ": line 3: the sample has 13 tokens, 3 of them special, but data.sequence_length "
                "= 8; write 13 or more, or data.too_long = \"cut\"");
  EXPECT_NO_THROW(opened(file, {.form = form_of_length(13), .refuse_long = true}).add(0, 3));
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { opened(file, {.form = form_of_length(4)}); }),
              HasSubstr("data.sequence_length: 4 tokens leave none for a text, as 3 of a sample "
                        "are special; write 5 or more"));
}

TEST(EncodedLabels, NameTheLineOfALabelThatIsNone) {
  const TempFile file("e.tsv", "text\tlabel\na\tyes\nb\tmaybe\n");
  EncodedLabels source = opened(file, {.form = form_of_length(8)});
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { source.add(0, 2); }),
              HasSubstr("e.tsv: line 3: the label \"maybe\" is none of"));
}

TEST(EncodedLabels, FingerprintChangesWithWhatASampleIsMadeOf) {
  const TempFile file("e.tsv", kLines);
  const LabelForm form = form_of_length(20);
  const auto print = [&](const LabelForm& of, const LabelFields& fields,
                         std::vector<std::string> classes) {
    return EncodedLabels(std::make_shared<LabelFile>(file.path(), fields),
                         LabelReader(std::move(classes), ClassNames::written), {.form = of},
                         open_tokenizer("bytes"))
        .fingerprint();
  };
  const uint64_t first = print(form, {}, {"no", "yes"});
  EXPECT_EQ(print(form_of_length(9), {}, {"no", "yes"}), first);
  LabelForm other = form;
  other.sep = 3;
  EXPECT_NE(print(other, {}, {"no", "yes"}), first);
  EXPECT_NE(print(form, {.texts = {"sentence2", "sentence1"}}, {"no", "yes"}), first);
  EXPECT_NE(print(form, {.texts = {"sentence1"}}, {"no", "yes"}), first);
  const uint64_t second = print(form, {.texts = {"sentence2"}}, {"no", "yes"});
  EXPECT_NE(print(form, {.texts = {"sentence2"}, .label = "sentence1"}, {"no", "yes"}), second);
  EXPECT_NE(print(form, {}, {"yes", "no"}), first);
  file.write(std::string(kLines) + "q\tr\tno\n");
  EXPECT_NE(print(form, {}, {"no", "yes"}), first);
}

TEST(LabelSamples, ViewTheRowsOfTheirSource) {
  const TempFile file("e.tsv", kLines);
  const LabelForm form = form_of_length(16);
  EncodedLabels source = opened(file, {.form = form});
  const int64_t row = source.add(1, 2);
  source.add(0, 1);
  const LabelSamples samples(source, form, row, 2, std::nullopt);
  EXPECT_EQ(samples.lengths(0), (LengthPair{.target = 13}));
  EXPECT_EQ(samples.lengths(1), (LengthPair{.target = 3}));
  EXPECT_EQ(samples.label(0), 0);
  EXPECT_EQ(samples.shown(0)[1].words, "no");
  EXPECT_EQ(samples.shown(0)[0].ids.size(), 13u);
  EXPECT_THAT(choose_form_lengths(samples, {.target = 16}, 4),
              ElementsAre(LengthPair{.target = 8}, LengthPair{.target = 16}));
}

}  // namespace
}  // namespace zero
