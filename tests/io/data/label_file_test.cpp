// Ranks: 1

#include "io/data/label_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::refusal_of;
using testing_support::TempFile;

using Names = std::vector<std::string>;

std::string refusal_of_file(const std::string& name, const std::string& content,
                            const LabelFields& written = {}) {
  const TempFile file(name, content);
  return refusal_of(Exit::kInput, [&] {
    const LabelFile rows(file.path(), written);
    for (int64_t i = 0; i < rows.records(); ++i) rows.read(i);
  });
}

TEST(LabelFields, AreReadOnceEach) {
  const std::string content = "a,b\nx,y\n";
  EXPECT_THAT(refusal_of_file("f.csv", content, {.texts = {"a"}, .label = "a"}),
              HasSubstr("the field \"a\" would be read twice; write other names"));
  EXPECT_THAT(refusal_of_file("f.csv", content, {.texts = {"a", "a"}, .label = "b"}),
              HasSubstr("the field \"a\" would be read twice"));
}

TEST(LabelFields, AreThoseOfTheFilesOfGlueAndOfHuggingFace) {
  struct Case {
    Names there, texts;
    std::string label;
  };
  const std::vector<Case> cases = {
      {{"Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"},
       {"#1 String", "#2 String"},
       "Quality"},
      {{"sentence1", "sentence2", "label", "idx"}, {"sentence1", "sentence2"}, "label"},
      {{"index", "genre", "filename", "year", "old_index", "source1", "source2", "sentence1",
        "sentence2", "score"},
       {"sentence1", "sentence2"},
       "score"},
      {{"index", "promptID", "sentence1_parse", "sentence1", "sentence2", "label1", "gold_label"},
       {"sentence1", "sentence2"},
       "gold_label"},
      {{"premise", "hypothesis", "label"}, {"premise", "hypothesis"}, "label"},
      {{"index", "question", "sentence", "label"}, {"question", "sentence"}, "label"},
      {{"id", "qid1", "qid2", "question1", "question2", "is_duplicate"},
       {"question1", "question2"},
       "is_duplicate"},
      {{"sentence", "label"}, {"sentence"}, "label"},
      {{"text", "labels"}, {"text"}, "labels"},
      {{"text_a", "text_b", "similarity"}, {"text_a", "text_b"}, "similarity"}};
  for (const Case& one : cases) {
    const LabelFields found = choose_label_fields({}, one.there, "place");
    EXPECT_EQ(found.texts, one.texts);
    EXPECT_EQ(found.label, one.label);
  }
}

TEST(LabelFields, ThatAreWrittenAreTakenWhateverIsThere) {
  const LabelFields written{.texts = {"a", "b"}, .label = "c"};
  EXPECT_EQ(choose_label_fields(written, {"sentence1", "sentence2", "label"}, ""), written);
  EXPECT_EQ(choose_label_fields({.texts = {"a"}}, {"a", "score"}, "").label, "score");
}

TEST(LabelFields, OfTwoKindsAreRefusedWithTheKeyThatChooses) {
  const auto refusal = [](const Names& names) {
    return refusal_of(Exit::kInput, [&] { choose_label_fields({}, names, "f: line 1"); });
  };
  EXPECT_THAT(refusal({"sentence1", "sentence2", "text", "label"}),
              HasSubstr("f: line 1: has several known fields of texts, \"sentence1\", "
                        "\"sentence2\" and \"text\"; write data.text_fields = [\"sentence1\", "
                        "\"sentence2\"] or [\"text\"]"));
  EXPECT_THAT(refusal({"text", "label", "score"}),
              HasSubstr("fields of labels, \"label\", \"score\"; write data.label_field = "
                        "\"label\" or another"));
}

TEST(LabelFile, ReadsGluesTableWithoutQuotesAndRecordsOfHuggingFace) {
  const TempFile table("m.tsv",
                       "\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
                       "1\t7\t8\tHe said \"yes .\tHe \"agreed\"\n0\t9\t9\ta\tb\n");
  const LabelFile rows(table.path(), {});
  EXPECT_EQ(rows.records(), 2);
  EXPECT_THAT(rows.read(0).texts, ElementsAre("He said \"yes .", "He \"agreed\""));
  EXPECT_EQ(rows.read(0).label, JsonScalar("1"));
  const TempFile lines("s.jsonl", "{\"idx\": 0, \"sentence\": \"fine\", \"label\": 1}\n");
  const LabelFile objects(lines.path(), {});
  EXPECT_THAT(objects.read(0).texts, ElementsAre("fine"));
  EXPECT_EQ(objects.read(0).label, JsonScalar(int64_t(1)));
  EXPECT_THAT(objects.fields().texts, ElementsAre("sentence"));
}

TEST(LabelFile, WithoutNamesAsColasIsRefusedWithWhatItHas) {
  EXPECT_THAT(refusal_of_file("cola.tsv", "gj04\t1\t\tOur friends won't buy it.\n"),
              AllOf(HasSubstr("names no field \"text\" but gj04, 1, , Our friends won't buy it.;"),
                    HasSubstr("data.text_fields and data.label_field say which to take"),
                    HasSubstr("where this line is a sample already, put a line with the names")));
  EXPECT_THAT(refusal_of_file("t.tsv", "index\tsentence1\tsentence2\n0\ta\tb\n"),
              HasSubstr("names no field \"label\" but index, sentence1, sentence2"));
  EXPECT_THAT(refusal_of_file("t.jsonl", "{\"review\": \"a\", \"stars\": 2}\n"),
              HasSubstr("has no text \"text\" but \"review\"; data.text_fields and"));
}

TEST(LabelFile, NamesTheLineOfADamagedRecord) {
  EXPECT_THAT(refusal_of_file("d.tsv", "text\tlabel\na\tb\nc\n"),
              HasSubstr("d.tsv: line 3: has 1"));
  EXPECT_THAT(refusal_of_file("d.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": 2}\n"),
              HasSubstr("d.jsonl: line 2: \"text\" is no text but a number"));
  EXPECT_THAT(refusal_of_file("d.source", "a\n"),
              HasSubstr("its name says no format of records; write the path of a file of texts "
                        "with labels: .jsonl, .csv or .tsv"));
  EXPECT_THAT(refusal_of_file("d.parquet", "PAR1...."), HasSubstr("Parquet"));
}

}  // namespace
}  // namespace zero
