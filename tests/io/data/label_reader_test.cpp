// Ranks: 1

#include "io/data/label_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::refusal_of;
using testing_support::TempFile;

std::vector<std::string> classes_of(const std::string& labels) {
  std::string content = "text,label\n";
  for (const char label : labels) content += "a," + std::string(1, label) + "\n";
  const TempFile file("c.csv", content);
  return classes_in(LabelFile(file.path(), {}));
}

std::string refusal_of_label(const LabelReader& reader, const JsonScalar& label) {
  return refusal_of(Exit::kInput, [&] { reader.read(label, "f: line 2"); });
}

TEST(LabelReader, SortsNumbersByValueInFrontOfWords) {
  EXPECT_THAT(classes_of("bcabba"), ElementsAre("a", "b", "c"));
  const TempFile file("n.jsonl",
                      "{\"text\": \"\", \"label\": 10}\n{\"text\": \"\", \"label\": \"b\"}\n"
                      "{\"text\": \"\", \"label\": 9}\n{\"text\": \"\", \"label\": -3}\n"
                      "{\"text\": \"\", \"label\": \"9\"}\n{\"text\": \"\", \"label\": \"nan\"}\n"
                      "{\"text\": \"\", \"label\": true}\n");
  EXPECT_THAT(classes_in(LabelFile(file.path(), {})),
              ElementsAre("-3", "9", "10", "b", "nan", "true"))
      << "9 and \"9\" are one class";
}

TEST(LabelReader, TakesTheWholeNumbersOfAColumnWithGaps) {
  const TempFile file("g.jsonl",
                      "{\"text\": \"\", \"label\": 1.0}\n{\"text\": \"\", \"label\": 0}\n");
  EXPECT_THAT(classes_in(LabelFile(file.path(), {})), ElementsAre("0", "1"));
}

TEST(LabelReader, TakesWholeNumbersWithAFractionForTheSameClass) {
  const TempFile mixed("m.csv", "text,label\na,0.0\na,1\na,0\na,1.5\n"),
      real("r.csv", "text,label\na,0.0\na,1.0\n");
  EXPECT_THAT(classes_in(LabelFile(mixed.path(), {})), ElementsAre("0", "1", "1.5"));
  EXPECT_THAT(classes_in(LabelFile(real.path(), {})), ElementsAre("0.0", "1.0"))
      << "the names that earlier models have";
  const LabelReader whole({"0", "1"}, ClassNames::of_train),
      fractions({"0.0", "1.0"}, ClassNames::of_model), words({"no", "yes"}, ClassNames::written);
  EXPECT_EQ(whole.read("1.0", ""), 1);
  EXPECT_EQ(fractions.read("1", ""), 1);
  EXPECT_EQ(fractions.read(int64_t(1), ""), 1);
  EXPECT_EQ(words.read("1.0", ""), 1);
  EXPECT_NE(refusal_of_label(whole, "1.5"), "");
}

TEST(LabelReader, PassesOverBlanksAroundNames) {
  const TempFile file("b.csv", "text, label\na, yes\na,yes \na,no\n");
  EXPECT_THAT(classes_in(LabelFile(file.path(), {.label = " label"})), ElementsAre("no", "yes"));
  const LabelReader reader({"no", "yes"}, ClassNames::of_train),
      written({"no ", "no"}, ClassNames::written);
  EXPECT_EQ(reader.read(" yes\t", ""), 1);
  EXPECT_EQ(written.read("no ", ""), 0) << "a name that the user wrote";
  EXPECT_EQ(written.read(" no", ""), 1);
  EXPECT_THAT(refusal_of_label(reader, "  "), HasSubstr("the label \"\" says that there is none"));
  EXPECT_EQ(classes_text({"a", " b", "c, d", ""}), "a, \" b\", \"c, d\", \"\"");
}

TEST(LabelReader, RefusesAFieldOfTextsAsLabels) {
  std::string content = "text,label\n";
  for (int i = 0; i < 5; ++i) content += "a," + std::to_string(i) + std::string(60'000, 'x') + "\n";
  const TempFile file("t.csv", content);
  const LabelFile texts(file.path(), {});
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { classes_in(texts); }),
              HasSubstr("t.csv: line 6: the names of 5 classes have more than 262144 bytes; write "
                        "data.label_field"));
}

TEST(LabelReader, GivesClassesTheirPlaces) {
  const LabelReader of_train({"no", "yes"}, ClassNames::of_train),
      written({"no", "yes"}, ClassNames::written), of_model({"no", "yes"}, ClassNames::of_model);
  EXPECT_EQ(of_train.read("yes", ""), 1);
  EXPECT_EQ(written.read("no", ""), 0);
  EXPECT_EQ(written.read(int64_t(1), ""), 1) << "a column of classes of Hugging Face";
  EXPECT_EQ(written.read("1", ""), 1) << "likewise in a table";
  EXPECT_THAT(refusal_of_label(of_train, int64_t(1)),
              HasSubstr("f: line 2: the label \"1\" is none of the classes of data.train, no, yes; "
                        "write all classes as data.labels, or leave"));
  EXPECT_THAT(refusal_of_label(of_model, int64_t(1)),
              HasSubstr("none of the model's classes, no, yes; write data.labels, the words of the "
                        "file for these, in this order, or leave"));
  EXPECT_EQ(of_model.read("yes", ""), 1);
  EXPECT_THAT(refusal_of_label(written, int64_t(2)),
              HasSubstr("the label \"2\" is none of data.labels, no, yes; add it there, or"));
  EXPECT_THAT(refusal_of_label(written, "maybe"), HasSubstr("none of data.labels, no, yes"));
  const LabelReader numbers({"1", "0"}, ClassNames::written);
  EXPECT_EQ(numbers.read(int64_t(0), ""), 1) << "a name, as there are numbers among them";
  EXPECT_EQ(numbers.read(int64_t(1), ""), 0);
}

TEST(LabelReader, RefusesMissingLabelsUnlessTheyAreWritten) {
  const LabelReader reader({"0", "1"}, ClassNames::of_train);
  for (const JsonScalar& label : {JsonScalar(nullptr), JsonScalar(""), JsonScalar("-"),
                                  JsonScalar(int64_t(-1)), JsonScalar("-1")}) {
    EXPECT_THAT(refusal_of_label(reader, label), HasSubstr("f: line 2: the label \""));
    EXPECT_THAT(refusal_of_label(reader, label), HasSubstr("says that there is none"));
  }
  EXPECT_EQ(LabelReader({"-1", "0", "1"}, ClassNames::written).read(int64_t(-1), ""), 0);
  EXPECT_THAT(refusal_of(Exit::kInput, [] { classes_of("ab-"); }),
              HasSubstr("c.csv: line 4: the label \"-\" says that there is none"));
}

TEST(LabelReader, ReadsRealNumbersThatAreFinite) {
  const LabelReader reader;
  EXPECT_TRUE(reader.is_real());
  EXPECT_EQ(reader.read("3.8", ""), 3.8);
  EXPECT_EQ(reader.read(2.5, ""), 2.5);
  EXPECT_EQ(reader.read(int64_t(-1), ""), -1) << "a number like any other";
  for (const JsonScalar& label : {JsonScalar("good"), JsonScalar("nan"), JsonScalar("")}) {
    EXPECT_THAT(refusal_of_label(reader, label),
                HasSubstr("is no number; a model of model.labels = 1"));
  }
  EXPECT_THAT(refusal_of_label(reader, 1e300), HasSubstr("is not finite in fp32"));
  EXPECT_THAT(refusal_of_label(reader, nullptr), HasSubstr("says that there is none"));
  EXPECT_THAT(
      refusal_of_label(LabelReader({"a", "b"}, ClassNames::written), 0.5),
      HasSubstr("the label 0.5 is no class; write words or whole numbers, or model.labels"));
}

TEST(LabelReader, NamesAFewClasses) {
  EXPECT_EQ(classes_text({"a", "b"}), "a, b");
  EXPECT_EQ(classes_text({"1", "2", "3", "4", "5", "6", "7", "8", "9"}),
            "1, 2, 3, 4, 5, 6, 7, 8, ...");
}

}  // namespace
}  // namespace zero
