// Ranks: 1

#include "io/data/document_file.hpp"

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

const DocumentFields kFields{.text = "text", .prompt = "prompt", .completion = "completion"};

std::string refusal(const std::string& name, const std::string& content,
                    const DocumentFields& fields = kFields) {
  const TempFile file(name, content);
  return refusal_of(Exit::kInput, [&] { open_document_file(file.path(), fields)->read(0); });
}

TEST(DocumentFile, TakesTheFormOfTheFirstRecord) {
  const TempFile texts("a.jsonl", "{\"id\": 3, \"text\": \"one\"}\n{\"text\": \"two\"}\n\n");
  const auto text = open_document_file(texts.path(), kFields);
  EXPECT_EQ(text->form(), DocumentForm::text);
  EXPECT_EQ(text->format(), "JSON lines of texts");
  EXPECT_EQ(text->documents(), 2);
  EXPECT_EQ(text->blank_lines(), 1);
  EXPECT_EQ(text->read(1).text, "two");
  EXPECT_EQ(text->place(1), texts.path() + ": line 2");

  const TempFile pairs("b.csv", "completion,prompt\n\"a, b\",q\n");
  const auto pair = open_document_file(pairs.path(), kFields);
  EXPECT_EQ(pair->form(), DocumentForm::completion);
  EXPECT_EQ(pair->format(), "CSV of completions");
  EXPECT_EQ(pair->read(0).prompt, "q");
  EXPECT_EQ(pair->read(0).text, "a, b");

  const TempFile ids("c.jsonl", "{\"input_ids\": [5, 6, 7], \"labels\": [-100, 6, -1]}\n");
  const auto id = open_document_file(ids.path(), kFields);
  EXPECT_EQ(id->form(), DocumentForm::ids);
  EXPECT_THAT(id->read(0).ids, ElementsAre(5, 6, 7));
  EXPECT_THAT(id->read(0).learnt, ElementsAre(false, true, false));
}

TEST(DocumentFile, KnowsFieldsByTheNamesOfTheInputFile) {
  const DocumentFields other{.text = "a.body", .prompt = "question", .completion = "answer"};
  const TempFile texts("a.jsonl", "{\"a\": {\"body\": \"x\"}, \"text\": \"y\"}\n");
  EXPECT_EQ(open_document_file(texts.path(), other)->read(0).text, "x");
  const TempFile pairs("b.tsv", "question\tanswer\n1\t2\n");
  EXPECT_EQ(open_document_file(pairs.path(), other)->read(0).text, "2");
  const TempFile both("c.jsonl", "{\"text\": \"y\", \"prompt\": \"p\", \"completion\": \"c\"}\n");
  DocumentFields one = kFields;
  one.text = "";
  EXPECT_EQ(open_document_file(both.path(), one)->form(), DocumentForm::completion);
  one = kFields, one.prompt = "";
  EXPECT_EQ(open_document_file(both.path(), one)->form(), DocumentForm::text);
}

TEST(DocumentFile, RefusesRecordsOfNoFormAndOfSeveral) {
  EXPECT_THAT(
      refusal("a.jsonl", "{\"body\": \"x\", \"n\": 1}\n"),
      HasSubstr("a.jsonl: line 1: has no \"text\", no \"prompt\" with \"completion\" and no "
                "\"input_ids\" but \"body\", \"n\"; data.text_field, or data.prompt_field "
                "and data.completion_field name the texts"));
  EXPECT_THAT(refusal("a.jsonl", "{\"prompt\": \"x\"}\n"), HasSubstr("has no \"text\""));
  EXPECT_THAT(refusal("a.jsonl", "{\"text\": \"x\", \"input_ids\": [1]}\n"),
              HasSubstr("has \"text\" and \"input_ids\", and one of them is learnt; write "
                        "data.text_field = \"\""));
  EXPECT_THAT(refusal("a.jsonl", "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n"),
              HasSubstr("has \"messages\", and no template makes a text of these yet"));
  EXPECT_THAT(refusal("a.csv", "input_ids\n\"[1, 2]\"\n"),
              HasSubstr("no cell of a table is an array"));
  const TempFile mixed("m.jsonl",
                       "{\"text\": \"x\"}\n{\"prompt\": \"p\", \"completion\": \"c\"}\n");
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { open_document_file(mixed.path(), kFields)->read(1); }),
              HasSubstr("line 2: has no text \"text\" but \"prompt\", \"completion\""));
}

TEST(DocumentFile, RefusesIdsThatAreNone) {
  const auto of = [](const std::string& record) { return refusal("a.jsonl", record + "\n"); };
  EXPECT_THAT(of("{\"input_ids\": 3}"), HasSubstr("\"input_ids\" is no array"));
  EXPECT_THAT(of("{\"input_ids\": [1, \"2\"]}"),
              HasSubstr("line 1: \"input_ids\" holds what is no id; write whole numbers"));
  EXPECT_THAT(of("{\"input_ids\": [1.5]}"), HasSubstr("holds what is no id"));
  EXPECT_THAT(of("{\"input_ids\": [-1]}"), HasSubstr("holds what is no id"));
  EXPECT_THAT(of("{\"input_ids\": [4294967296]}"), HasSubstr("holds what is no id"));
  EXPECT_THAT(of("{\"input_ids\": [[1, 2]]}"), HasSubstr("is no array of numbers"));
  EXPECT_THAT(of("{\"input_ids\": [1, 2], \"labels\": [1]}"),
              HasSubstr("has 2 ids and 1 label; write a label for each, -100 or the id"));
  EXPECT_THAT(of("{\"input_ids\": [1, 2], \"labels\": [1, 3]}"),
              HasSubstr("label 1 is 3, and id 1 is 2; write that, or -100"));
  EXPECT_THAT(of("{\"input_ids\": [1], \"labels\": [-2]}"), HasSubstr("label 0 is -2"));
  EXPECT_THAT(of("{\"input_ids\": [1], \"labels\": [-101]}"), HasSubstr("what is no label"));
  EXPECT_EQ(of("{\"input_ids\": [], \"attention_mask\": [[1]]}"), "");
  const TempFile mixed("m.jsonl", "{\"input_ids\": [1], \"labels\": [1]}\n{\"input_ids\": [1]}\n");
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { open_document_file(mixed.path(), kFields)->read(1); }),
              HasSubstr("line 2: has no \"labels\", unlike the first record"));
}

TEST(DocumentFile, RefusesAFileOfAnotherName) {
  EXPECT_THAT(refusal_of(Exit::kInput, [] { open_document_file("none.parquet", kFields); }),
              HasSubstr("none.parquet: No such file or directory; write the path of a file"));
  EXPECT_THAT(refusal("a.parquet", "PAR1..."),
              AllOf(HasSubstr("is a Parquet file"), HasSubstr("to_json('NEW.jsonl'")));
  EXPECT_THAT(refusal("a.xml", "<a/>"), HasSubstr("its name says no format of documents"));
}

}  // namespace
}  // namespace zero
