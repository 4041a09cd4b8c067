// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::refusal_of;
using testing_support::TempFile;

/// Ten records with the texts a, b, ... and labels x and y in turn, and a z at the end.
std::string ten_lines() {
  std::string out = "text,label\n";
  for (int i = 0; i < 10; ++i)
    out += std::string(1, char('a' + i)) + (i == 9 ? ",z\n" : i % 2 ? ",x\n" : ",y\n");
  return out;
}

DataOptions options_of(const std::string& train, int64_t labels = 3) {
  return {.data = {.train = train, .sequence_length = 8},
          .seed = 1,
          .vocab_size = 256,
          .model = {{"labels", labels}}};
}

std::string refusal(const DataOptions& options, Exit exit = Exit::kUsage) {
  return refusal_of(exit, [&] { label_data().open(options); });
}

/// The letter and the label of each sample in its order.
std::string shown(const Dataset& data) {
  std::string out;
  for (int64_t i = 0; i < data.samples(); ++i) {
    const std::vector<ShownIds> sample = data.shown(i);
    EXPECT_EQ(sample[0].ids.size(), 3u);
    out += char(sample[0].ids[1]) + sample[1].words + " ";
  }
  return out;
}

TEST(LabelData, TakesTheClassesFromAllOfTheTrainingFile) {
  const TempFile file("t.csv", ten_lines());
  DataOptions options = options_of(file.path());
  options.data.validation_fraction = 0.3;
  options.data.max_train_samples = 2;
  const DataSets sets = label_data().open(options);
  EXPECT_THAT(sets.classes, ElementsAre("x", "y", "z"));
  EXPECT_EQ(shown(*sets.validation), "hx iy jz ");
  EXPECT_EQ(sets.train->samples(), 2);
  EXPECT_EQ(sets.train->counted(0, 2), 2);
  options.data.max_train_samples = 0;
  std::string trained = shown(*label_data().open(options).train);
  EXPECT_NE(trained, "ay bx cy dx ey fx gy ") << "shuffled";
  std::ranges::sort(trained);
  std::string in_order = "ay bx cy dx ey fx gy ";
  std::ranges::sort(in_order);
  EXPECT_EQ(trained, in_order);
}

TEST(LabelData, OrdersClassesAsTheModelThatARunStartsFrom) {
  const TempFile file("t.csv", ten_lines());
  DataOptions options = options_of(file.path());
  options.known_labels = {"z", "x", "y"};
  DataSets sets = label_data().open(options);
  EXPECT_THAT(sets.classes, ElementsAre("z", "x", "y"));
  const uint64_t known = sets.fingerprint();
  options.known_labels = {"x", "y", "w"};
  sets = label_data().open(options);
  EXPECT_THAT(sets.classes, ElementsAre("x", "y", "z")) << "other names have no order";
  EXPECT_NE(sets.fingerprint(), known);
  options.known_labels = {"z", "x", "y"};
  options.data.labels = {"y", "z", "x"};
  EXPECT_THAT(label_data().open(options).classes, ElementsAre("y", "z", "x"));
}

TEST(LabelData, KeepsTheClassesOfAModelThatIsEvaluated) {
  const TempFile file("t.csv", ten_lines()), numbered("n.csv", "text,label\na,2\nb,0\n");
  DataOptions options = options_of(file.path());
  options.keeps_labels = true;
  options.known_labels = {"z", "x", "y"};
  EXPECT_THAT(label_data().open(options).classes, ElementsAre("z", "x", "y"));
  options.known_labels = {"z", "x", "w"};
  EXPECT_THAT(refusal(options, Exit::kInput), HasSubstr("\"y\" is none of the model's classes"));
  options.known_labels = {};
  EXPECT_THAT(refusal(options, Exit::kInput), HasSubstr("none of the model's classes, 0, 1, 2;"));
  options.data.train = numbered.path();
  EXPECT_THAT(label_data().open(options).classes, ElementsAre("0", "1", "2"))
      << "and not the two that the file has";
  options.known_labels = {"z", "x", "y"};
  EXPECT_THAT(refusal(options, Exit::kInput), HasSubstr("\"2\" is none of the model's classes"));
  options.data.labels = {"z", "x", "y"};
  EXPECT_THAT(label_data().open(options).classes, ElementsAre("z", "x", "y"))
      << "who writes them may mean their places";
}

TEST(LabelData, TakesTheValidationFromAFileOfOtherNames) {
  const TempFile file("t.csv", ten_lines()),
      other("v.jsonl", "{\"sentence\": \"q\", \"gold_label\": \"z\"}\n");
  DataOptions options = options_of(file.path());
  options.data.validation = other.path();
  const DataSets sets = label_data().open(options);
  EXPECT_EQ(shown(*sets.validation), "qz ");
  EXPECT_EQ(sets.validation->label(0), 2);
  EXPECT_NE(sets.fingerprint(), label_data().open(options_of(file.path())).fingerprint());
  other.write("{\"sentence\": \"q\", \"label\": \"w\"}\n");
  EXPECT_THAT(refusal(options, Exit::kInput),
              HasSubstr("v.jsonl: line 1: the label \"w\" is none of the classes of data.train, "
                        "x, y, z; write all classes as data.labels"));
  other.write("{\"sentence\": \"q\", \"label\": -1}\n");
  EXPECT_THAT(refusal(options, Exit::kInput),
              HasSubstr("line 1: the label \"-1\" says that there"));
  other.write("{\"sentence1\": \"q\", \"sentence2\": \"q\", \"label\": \"x\"}\n");
  EXPECT_THAT(refusal(options, Exit::kInput), HasSubstr("has 2 texts in a sample, and "));
}

TEST(LabelData, RefusesAnotherCountOfClassesThanTheModels) {
  const TempFile file("t.csv", ten_lines()), one("o.csv", "text,label\na,x\n");
  EXPECT_THAT(refusal(options_of(file.path(), 2)),
              HasSubstr("data.train has the 3 classes x, y, z and the model 2 labels; write "
                        "model.labels = 3"));
  EXPECT_THAT(refusal(options_of(file.path(), 4)),
              HasSubstr("and the model 4 labels; write model.labels = 3, or all classes as "
                        "data.labels"));
  EXPECT_THAT(refusal(options_of(one.path(), 2)),
              HasSubstr("data.train has the class x and the model 2 labels; write all classes as "
                        "data.labels"));
  const TempFile real("r.csv", "text,label\na,0.5\nb,1.0\nc,2\n");
  EXPECT_THAT(refusal(options_of(real.path(), 2)),
              HasSubstr("write model.labels = 3, or model.labels = 1 to learn real numbers"));
  DataOptions options = options_of(one.path(), 3);
  options.data.labels = {"x"};
  EXPECT_THAT(refusal(options), HasSubstr("data.labels: has one class, \"x\"; write two or more"));
  options.data.labels = {"x", "y"};
  EXPECT_THAT(refusal(options), HasSubstr("data.labels has the 2 classes x, y and the model 3 "
                                          "labels; write model.labels = 2"));
  options.model["labels"] = 2;
  EXPECT_THAT(label_data().open(options).classes, ElementsAre("x", "y"));
}

TEST(LabelData, LearnsRealNumbersIfTheModelHasOneLabel) {
  const TempFile file("s.tsv", "sentence1\tsentence2\tscore\na\tb\t3.8\nc\td\t0\n");
  DataOptions options = options_of(file.path(), 1);
  options.data.validation = file.path();
  const DataSets sets = label_data().open(options);
  EXPECT_THAT(sets.classes, IsEmpty());
  EXPECT_EQ(sets.validation->label(0), 3.8);
  EXPECT_EQ(label_data().columns(options)[2], (DataColumn{"labels", Dtype::f32, 1}));
  EXPECT_EQ(label_data().columns(options_of("", 2))[2], (DataColumn{"labels", Dtype::i32, 1}));
  options.data.labels = {"a", "b"};
  EXPECT_THAT(refusal(options), HasSubstr("a model of model.labels = 1 learns real numbers and no "
                                          "classes; remove data.labels"));
}

TEST(LabelData, TakesSpecialIdsOfATokenizerAndOwnOnesForBytes) {
  const std::string golden = (testing_support::tree_folder() / "tests/golden/").string();
  const TempFile file("t.csv", ten_lines());
  DataOptions options = options_of(file.path());
  EXPECT_THAT(label_data().open(options).train->shown(0)[0].ids,
              ElementsAre(1, testing::Ge('a'), 2));
  options.ids.pad = 1;
  EXPECT_THAT(label_data().open(options).train->shown(0)[0].ids,
              ElementsAre(2, testing::Ge('a'), 3));
  options.ids.pad = 2;
  EXPECT_THAT(label_data().open(options).train->shown(0)[0].ids,
              ElementsAre(1, testing::Ge('a'), 3));
  options = options_of(file.path());
  options.vocab_size = 900;
  options.data.tokenizer = golden + "bpe";
  options.data.pad_id = 0;
  EXPECT_THAT(refusal(options),
              AllOf(HasSubstr("names no cls token, which stands in front of each sample; take the "
                              "one that the model comes with, or write \"bytes\"")));
  options.data.pad_id = 1;
  options.ids.pad = 0;
  EXPECT_THAT(refusal(options), HasSubstr("data.pad_id"));
  options = options_of(file.path());
  options.vocab_size = 200;
  EXPECT_THAT(refusal(options), HasSubstr("write model.vocab_size = 256 or more"));
}

TEST(LabelData, SaysHowManySamplesWereCut) {
  const TempFile file("t.csv", ten_lines() + "a long text,x\n\n");
  DataOptions options = options_of(file.path());
  EXPECT_EQ(
      label_data().open(options).remark,
      "classes x 5, y 5, z 1; in training 1 sample cut to 8 tokens, 1 blank line at the end is "
      "passed over");
  options.data.too_long = TooLong::refuse;
  EXPECT_THAT(refusal(options, Exit::kInput),
              HasSubstr("t.csv: line 12: the sample has 13 tokens"));
}

TEST(LabelData, CountsTheSamplesOfEachClassAndSaysIfOneStandsAlone) {
  const TempFile sorted("s.csv", "text,label\na,x\na,x\na,x\na,y\na,y\n"),
      all("a.csv", "text,label\na,x\na,y\na,y\n");
  DataOptions options = options_of(sorted.path());
  options.model = {{"labels", 2}};
  options.data.validation_fraction = 0.4;
  EXPECT_EQ(label_data().open(options).remark,
            "classes x 3, y 0; in validation x 0, y 2: one class alone, so its metrics say little; "
            "shuffle the lines of the file, or write data.validation, a file with all");
  options.data.validation_fraction = 0;
  options.data.validation = all.path();
  EXPECT_EQ(label_data().open(options).remark, "classes x 3, y 2; in validation x 1, y 2");
}

TEST(LabelData, SaysThatATsvKeepsItsQuotes) {
  const std::string rows = "text\tlabel\n\"a \"\"b\"\"\"\tx\n\"\ty\na\tz\n";
  const TempFile tabbed("q.tsv", rows), csv("q.csv", "text,label\n\"\"\"a\"\"\",x\na,y\na,z\n");
  EXPECT_THAT(label_data().open(options_of(tabbed.path())).remark,
              HasSubstr(", 1 text in double quotes, which a TSV keeps"));
  EXPECT_EQ(label_data().open(options_of(csv.path())).remark, "classes x 1, y 1, z 1");
}

TEST(LabelData, RefusesMoreClassesThanAModelHas) {
  std::string rows = "text,label\n";
  for (int i = 0; i < 10'001; ++i) rows += "a,c" + std::to_string(i) + "\n";
  const TempFile file("many.csv", rows);
  EXPECT_THAT(refusal(options_of(file.path())),
              HasSubstr("and a model at most 10000; write data.label_field, the field of the"));
}

TEST(LabelData, RefusesKeysThatNameNothing) {
  const TempFile file("t.csv", ten_lines());
  DataOptions options = options_of(file.path());
  options.data.text_fields = {"a", "b", "c"};
  EXPECT_THAT(refusal(options), HasSubstr("data.text_fields: a sample has one text or two"));
  options.data.text_fields = {""};
  EXPECT_THAT(refusal(options), HasSubstr("data.text_fields: a sample has one text or two"));
  options.data.text_fields = {};
  options.data.labels = {"x", "y", "x"};
  EXPECT_THAT(refusal(options), HasSubstr("data.labels: \"x\" stands there twice"));
}

TEST(LabelData, MakesSyntheticSamplesThatSaySo) {
  DataOptions options = options_of("synthetic", 3);
  options.data.max_train_samples = 6;
  const DataSets sets = label_data().open(options);
  EXPECT_TRUE(sets.synthetic);
  EXPECT_THAT(sets.classes, ElementsAre("0", "1", "2"));
  EXPECT_EQ(sets.train->samples(), 6);
  EXPECT_EQ(sets.train->shown(0)[0].ids.size(), 8u);
  double sum = 0;
  for (int64_t i = 0; i < 6; ++i) sum += sets.train->label(i);
  EXPECT_EQ(sum, 6) << "each class twice";
  options.data.labels = {"a", "b"};
  EXPECT_THAT(refusal(options), HasSubstr("write model.labels = 2"));
}

TEST(LabelData, NamesAllFilesThatItReads) {
  EXPECT_THAT(label_data().files({.data = {.train = "a.tsv", .validation = "b.csv"}}),
              ElementsAre("a.tsv", "b.csv"));
}

}  // namespace
}  // namespace zero
