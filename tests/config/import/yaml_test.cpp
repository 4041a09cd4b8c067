// Ranks: 1

#include "src/config/import/yaml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/damaged_text.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using testing::HasSubstr;

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
  EXPECT_THAT(problem("a:\n- 1"), HasSubstr("lists are read as [] only"));
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
  EXPECT_THAT(problem(std::string(2'000'000, '\n')), HasSubstr("at most 1048576"));
}

TEST(Yaml, EndsWithAnErrorOrAnObjectOnAnyBytes) {
  const std::string seed = "a:\n  b: 'x'\n  c: \"y\"\nd: 1.5 # e\nf: {}\ng: no\n";
  testing_support::read_damaged(seed, problem);
}

}  // namespace
}  // namespace zero
