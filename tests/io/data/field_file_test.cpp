// Ranks: 1

#include "io/data/field_file.hpp"

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

constexpr FieldWords kWords{.advice = "write a path", .keys = "the keys", .record = "row"};

/// Chooses these fields whatever there is.
FieldChoice always(std::vector<WantedField> fields) {
  return [fields](const auto&, const std::string&) { return fields; };
}

std::vector<std::string> names_in(const TempFile& file) {
  std::vector<std::string> found;
  const auto choose = [&](const std::vector<std::string>& names, const std::string& place) {
    EXPECT_EQ(place, file.path() + ": line 1");
    found = names;
    return std::vector<WantedField>{};
  };
  open_field_file(file.path(), choose, kWords);
  return found;
}

TEST(FieldFile, TellsTheNamesThatItHas) {
  EXPECT_THAT(names_in(TempFile("n.csv", "a,\"b c\",d\n1,2,3\n")), ElementsAre("a", "b c", "d"));
  EXPECT_THAT(names_in(TempFile("n.tsv", "a\t#1 b\n1\t2\n")), ElementsAre("a", "#1 b"));
  EXPECT_THAT(
      names_in(TempFile("n.jsonl", R"({"a": "x", "n": [1, {"y": 2, "z": [3], "w": 4}], "nn": 5,)"
                                   R"( "o": {"b": 3, "c": null}})"
                                   "\n{\"z\": 1}\n")),
      ElementsAre("a", "nn", "o.b", "o.c"))
      << "of the first object, outside of lists";
}

TEST(FieldFile, ReadsAnyNumberOfFieldsInTheOrderInWhichTheyAreWanted) {
  const std::vector<WantedField> wanted = {{"c"}, {"a"}, {"b"}};
  for (const auto& [name, content] : {std::pair("r.csv", "a,b,c\n1,2,3\n4,5,6\n"),
                                      {"r.tsv", "a\tb\tc\n1\t2\t3\n4\t5\t6\n"},
                                      {"r.json",
                                       "{\"a\": \"1\", \"b\": \"2\", \"c\": \"3\"}\n"
                                       "{\"c\": \"6\", \"a\": \"4\", \"b\": \"5\"}\n"}}) {
    const TempFile file(name, content);
    const auto rows = open_field_file(file.path(), always(wanted), kWords);
    ASSERT_EQ(rows->records(), 2) << name;
    EXPECT_EQ(rows->read(1), (std::vector<JsonScalar>{"6", "4", "5"})) << name;
    EXPECT_EQ(rows->fields(), wanted);
  }
}

TEST(FieldFile, TakesValuesThatAreNoTextWhereThatIsAllowed) {
  const TempFile file("v.jsonl", "{\"a\": 1}\n{\"a\": 2.5}\n{\"a\": true}\n{\"a\": null}\n");
  const auto rows = open_field_file(file.path(), always({{.name = "a", .is_text = false}}), kWords);
  EXPECT_EQ(rows->read(0)[0], JsonScalar(int64_t(1)));
  EXPECT_EQ(rows->read(1)[0], JsonScalar(2.5));
  EXPECT_EQ(rows->read(2)[0], JsonScalar(true));
  EXPECT_EQ(rows->read(3)[0], JsonScalar(nullptr));
  EXPECT_EQ(rows->place(3), file.path() + ": line 4");
}

TEST(FieldFile, NamesTheKeysOfItsUserWhereAFieldIsMissing) {
  const std::vector<WantedField> wanted = {{"a"}, {.name = "b", .is_text = false}};
  const auto refusal = [&](const char* name, const std::string& content) {
    const TempFile file(name, content);
    return refusal_of(Exit::kInput, [&] {
      const auto rows = open_field_file(file.path(), always(wanted), kWords);
      for (int64_t i = 0; i < rows->records(); ++i) rows->read(i);
    });
  };
  EXPECT_THAT(refusal("m.jsonl", "{\"a\": \"x\", \"b\": 1}\n{\"a\": \"x\"}\n"),
              HasSubstr("m.jsonl: line 2: has no value \"b\" but \"a\"; the keys name them"));
  EXPECT_THAT(refusal("m.jsonl", "{\"a\": \"x\", \"b\": [1]}\n"),
              HasSubstr("\"b\" is no value but an array, or in one"));
  EXPECT_THAT(refusal("m.csv", "a,c\n1,2\n"),
              AllOf(HasSubstr("names no field \"b\" but a, c; the keys say which to take"),
                    HasSubstr("where this line is a row already")));
  EXPECT_THAT(refusal("m.tsv", "\n\n"), HasSubstr("holds blank lines alone; write a path"));
  EXPECT_THAT(refusal("m.jsonl", "{\"data\": [{\"a\": \"x\", \"b\": \"y\"}]}\n"),
              HasSubstr("jq -c '.data[]' FILE"));
}

}  // namespace
}  // namespace zero
