// Ranks: 1

#include "io/data/choice_file.hpp"

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

std::string refusal_of_line(const std::string& line) {
  const TempFile file("a.jsonl", line + "\n");
  return refusal_of(Exit::kInput, [&] { ChoiceFile(file.path()).read(0); });
}

/// Returns the refusal of a record whose answer is this.
std::string refusal_of_answer(const std::string& answer) {
  return refusal_of_line(R"({"context": "a", "choices": ["b", "c"], "answer": )" + answer + "}");
}

TEST(ChoiceFile, ReadsAnAnswerByItsIndexAndByItsText) {
  const TempFile file(
      "a.jsonl",
      "{\"id\": [1], \"context\": \"2 + 2 =\", \"choices\": [\"3\", \"4\"], \"answer\": 1}\n"
      "{\"answer\": \"no\", \"choices\": [\"no\"], \"context\": \"\", \"target_delimiter\": \"\"}\n"
      "\n");
  const ChoiceFile choices(file.path());
  ASSERT_EQ(choices.records(), 2);
  EXPECT_EQ(choices.place(1), file.path() + ": line 2");
  const ChoiceRecord sum = choices.read(0), no = choices.read(1);
  EXPECT_EQ(sum.context, "2 + 2 =");
  EXPECT_THAT(sum.choices, ElementsAre("3", "4"));
  EXPECT_EQ(sum.answer, 1);
  EXPECT_EQ(sum.delimiter, " ");
  EXPECT_EQ(no.context, "");
  EXPECT_EQ(no.answer, 0);
  EXPECT_EQ(no.delimiter, "");
}

TEST(ChoiceFile, RefusesARecordWithoutAField) {
  EXPECT_THAT(refusal_of_line(R"({"choices": ["b"], "answer": 0})"),
              HasSubstr("a.jsonl: line 1: \"context\" is missing; write JSON lines as {"));
  EXPECT_THAT(refusal_of_line(R"({"context": "a", "answer": 0})"),
              HasSubstr("\"choices\" is missing"));
  EXPECT_THAT(refusal_of_line(R"({"context": "a", "choices": [], "answer": 0})"),
              HasSubstr("\"choices\" is empty"));
  EXPECT_THAT(refusal_of_line(R"({"context": "a", "choices": ["b", "c"]})"),
              HasSubstr("\"answer\" names no choice; write 0 to 1, or the text of one"));
}

TEST(ChoiceFile, RefusesAnAnswerThatIsNoChoice) {
  for (const char* answer : {"2", "-1", "\"d\"", "null", "0.5", "true"})
    EXPECT_THAT(refusal_of_answer(answer), HasSubstr("\"answer\" names no choice")) << answer;
  EXPECT_THAT(refusal_of_answer("[0]"), HasSubstr("\"answer\" is a list or an object"));
}

TEST(ChoiceFile, RefusesChoicesThatAreNoTexts) {
  EXPECT_THAT(refusal_of_line(R"({"context": "a", "choices": {"text": ["b"]}, "answer": 0})"),
              HasSubstr("\"choices\" is no array of texts"));
  EXPECT_THAT(refusal_of_line(R"({"context": "a", "choices": ["b", ["c"]], "answer": 0})"),
              HasSubstr("\"choices\" is no array of texts"));
  EXPECT_THAT(refusal_of_line(R"({"context": "a", "choices": [1], "answer": 0})"),
              HasSubstr("\"choices\" holds what is no text"));
  EXPECT_THAT(refusal_of_line(R"({"context": "a", "choices": "b", "answer": 0})"),
              HasSubstr("\"choices\" holds what is no text"));
  EXPECT_THAT(refusal_of_line(R"({"context": "a", "choices": ["b", ""], "answer": 0})"),
              HasSubstr("\"choices\" holds an empty text"));
  EXPECT_THAT(refusal_of_line(R"({"context": 1, "choices": ["b"], "answer": 0})"),
              HasSubstr("\"context\" holds what is no text"));
}

TEST(ChoiceFile, RefusesAnotherFile) {
  EXPECT_THAT(refusal_of(Exit::kInput, [] { ChoiceFile("choices.csv"); }),
              HasSubstr("choices.csv: its name is none of JSON lines; write a .jsonl file"));
  const TempFile blank("b.jsonl", "\n\n");
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { ChoiceFile file(blank.path()); }),
              HasSubstr("blank lines alone"));
}

}  // namespace
}  // namespace zero
