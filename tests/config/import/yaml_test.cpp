// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/config/import/nested_file.hpp"
#include "tests/support/damaged_text.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string problem(std::string_view text) {
  try {
    read_yaml(text, "x.yaml");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    return error.what();
  }
  return "no problem";
}

TomlValue only_value(const std::string& text) {
  const Source source = read_yaml("a: " + text, "x.yaml");
  EXPECT_EQ(source.size(), 1u);
  return source.size() == 1 ? source[0].value.value_or("null") : TomlValue("none");
}

TEST(Yaml, ReadsPlainValuesAsPyYamlDoes) {
  EXPECT_EQ(only_value("true"), TomlValue(true));
  EXPECT_EQ(only_value("no"), TomlValue(false));
  EXPECT_EQ(only_value("'no'"), TomlValue(std::string("no")));
  EXPECT_EQ(only_value("nO"), TomlValue(std::string("nO")));
  EXPECT_EQ(only_value("12"), TomlValue(int64_t(12)));
  EXPECT_EQ(only_value("1.5"), TomlValue(1.5));
  EXPECT_EQ(only_value("10.0.0.1"), TomlValue(std::string("10.0.0.1")));
  EXPECT_EQ(only_value("a/b c#d # e"), TomlValue(std::string("a/b c#d")));
  EXPECT_EQ(only_value("'it''s' # x"), TomlValue(std::string("it's")));
  EXPECT_EQ(only_value("\"a\\tb\""), TomlValue(std::string("a\tb")));
  EXPECT_EQ(only_value("null"), TomlValue(std::string("null")));
  EXPECT_EQ(only_value("~"), TomlValue(std::string("null")));
  EXPECT_EQ(only_value(""), TomlValue(std::string("null")));
  EXPECT_TRUE(read_yaml("a: {}\nb: []\n", "x").empty());
}

TEST(Yaml, ReadsNumbersAsPythonWritesThem) {
  EXPECT_EQ(only_value("1."), TomlValue(1.0));
  EXPECT_EQ(only_value(".5"), TomlValue(0.5));
  EXPECT_EQ(only_value("-1.e-4"), TomlValue(-1e-4));
  EXPECT_EQ(only_value("029500"), TomlValue(std::string("029500"))) << "an octal number there";
}

/// "key=value" of each entry.
std::vector<std::string> read(std::string_view text) {
  std::vector<std::string> read;
  for (const SourceEntry& entry : read_yaml(text, "x.yaml")) {
    read.push_back(entry.key + "=" + to_text(entry.value.value_or("null")));
  }
  return read;
}

TEST(Yaml, ReadsQuotedKeys) {
  EXPECT_THAT(read("\"a\": 1\n'b':\n  \"c\" : x\n"), ElementsAre("a=1", "b.c=\"x\""));
  EXPECT_THAT(problem("\"a b\": 1"), HasSubstr("a key is made of"));
  EXPECT_THAT(problem("\"a: 1"), HasSubstr("not closed"));
}

TEST(Yaml, ReadsObjectsInBraces) {
  EXPECT_THAT(
      read("a: {b: 1, 'c': cpu, \"d\":true, e: , f}\ng: 2\n"),
      ElementsAre("a.b=1", "a.c=\"cpu\"", "a.d=true", "a.e=\"null\"", "a.f=\"null\"", "g=2"));
  EXPECT_THAT(read("a: {b: 1.,  # one\n    c: {d: no}, # two\n\n  }\ne: x\n"),
              ElementsAre("a.b=1.0", "a.c.d=false", "e=\"x\""));
  EXPECT_THAT(read("{a: 1, b: {c: http://x}}"), ElementsAre("a=1", "b.c=\"http://x\""));
  EXPECT_EQ(read_yaml("a: {\n  b: 1,\n  c: 2}", "x")[1].place, "x:3");
}

TEST(Yaml, ReadsListsOfLinesAndInBrackets) {
  EXPECT_THAT(read("a:\n- 1\n- x y\n\n# no\n- 'z: w'\nb: 2\n"),
              ElementsAre("a=[1, \"x y\", \"z: w\"]", "b=2"));
  EXPECT_THAT(read("a:\n  b:\n    - true\n    - http://x\n  c: 3\n"),
              ElementsAre("a.b=[true, \"http://x\"]", "a.c=3"));
  EXPECT_THAT(read("a: [1, two,\n  'three', ]\nb: []\n"), ElementsAre("a=[1, \"two\", \"three\"]"));
}

TEST(Yaml, TakesAListThatHoldsMoreThanPlainValuesAsOneText) {
  for (const char* text : {"a:\n- b: 1\n  c: 2\n- 3\n", "a: [[1], 2]\n", "a: [{b: [1, {c: d}]}]\n",
                           "a:\n-\n  b: 1\n", "a:\n- - 1\n  - 2\n", "a:\n- {b: 1}\n- [2]\n"}) {
    EXPECT_THAT(read(std::string(text) + "e: 5\n"), ElementsAre("a=\"[...]\"", "e=5")) << text;
  }
}

TEST(Yaml, PassesOverMarksOfDocuments) {
  EXPECT_THAT(read("%YAML 1.2\n---\na: 1\n...\n"), ElementsAre("a=1"));
}

TEST(Yaml, JoinsObjectsByIndentationAndKeepsLines) {
  const Source source =
      read_yaml("---\n# head\na:\n  b: 1\n\n  c:\n    d: 2\ne: 3\nf:\ng: 4\r\n", "x.yaml");
  ASSERT_EQ(source.size(), 5u);
  EXPECT_EQ(source[0].key, "a.b");
  EXPECT_EQ(source[0].place, "x.yaml:4");
  EXPECT_EQ(source[1].key, "a.c.d");
  EXPECT_EQ(source[2].key, "e");
  EXPECT_EQ(source[3].key, "f");
  EXPECT_FALSE(source[3].value.has_value());
  EXPECT_EQ(source[4].value, TomlValue(int64_t(4)));
}

TEST(Yaml, NamesTheLineOfWhatItCannotRead) {
  EXPECT_THAT(problem("a: 1\n  b: 2"), HasSubstr("x.yaml:2: an indentation"));
  EXPECT_THAT(problem("a:\n    b: 2\n  c: 3"), HasSubstr("x.yaml:3: an indentation"));
  EXPECT_THAT(problem("a:\n\tb: 2"), HasSubstr("x.yaml:2: a tab"));
  EXPECT_THAT(problem("- 1"), HasSubstr("a list without a key above"));
  EXPECT_THAT(problem("a:\n  b: 1\n- 1"), HasSubstr("x.yaml:3: a list without a key above"));
  EXPECT_THAT(problem("a:\n- 1\n  2"), HasSubstr("x.yaml:3: an indentation"));
  EXPECT_THAT(problem("a: {b: 1"), HasSubstr("wants , or }"));
  EXPECT_THAT(problem("a: [1 2\nb: 3"), HasSubstr("wants , or ]"));
  EXPECT_THAT(problem("a: {b:1}"), HasSubstr("a.b wants a blank behind its colon"));
  EXPECT_THAT(problem("a: {b: 1, b: 2}"), HasSubstr("a.b stands twice"));
  EXPECT_THAT(problem("a: [{b: &x 1}]"), HasSubstr("cannot begin with '&'"));
  EXPECT_THAT(problem("a"), HasSubstr("key: value"));
  EXPECT_THAT(problem("a:1"), HasSubstr("wants a blank behind its colon"));
  EXPECT_THAT(problem("a: &x 1"), HasSubstr("cannot begin with '&'"));
  EXPECT_THAT(problem("a: b: c"), HasSubstr("a colon inside a value"));
  EXPECT_THAT(problem("a: 'x' y"), HasSubstr("unexpected 'y'"));
  EXPECT_THAT(problem("a: 'x"), HasSubstr("not closed"));
  EXPECT_THAT(problem("a: 1\na: 2"), HasSubstr("a stands twice, first in line 1"));
}

TEST(Yaml, HasLimits) {
  std::string deep;
  for (size_t i = 0; i < 20; ++i) deep += std::string(i, ' ') + "a:\n";
  EXPECT_THAT(problem(deep), HasSubstr("more than 8 objects"));
  std::string flow = "a: ", list = "a: ";
  for (int i = 0; i < 100000; ++i) flow += "{b: ", list += "[";
  EXPECT_THAT(problem(flow), HasSubstr("more than 8 objects"));
  EXPECT_THAT(problem(list), HasSubstr("more than 8 objects"));
  EXPECT_THAT(problem(std::string(2'000'000, '\n')), HasSubstr("at most 1048576"));
}

TEST(Yaml, EndsWithAnErrorOrAnObjectOnAnyBytes) {
  const std::string seed =
      "a:\n  b: 'x'\n  \"c\": \"y\"\nd: 1.5 # e\nf: {h: [1, {i: 2}]}\ng: no\nj:\n- k\n- l: 1\n  m: "
      "2\n";
  testing_support::read_damaged(seed, problem);
}

}  // namespace
}  // namespace zero
