// Ranks: 1

#include "zero/config/toml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zero {
namespace {

using ::testing::HasSubstr;

TomlValue only_value(std::string_view text) {
  const TomlDocument document = parse_toml(text);
  EXPECT_TRUE(document.problems.empty()) << document.problems[0].what;
  EXPECT_EQ(document.entries.size(), 1u);
  return document.entries.empty() ? TomlValue(false) : document.entries[0].value;
}

/// "line: key: what" of the first problem.
std::string problem(std::string_view text) {
  const TomlDocument document = parse_toml(text);
  if (document.problems.empty()) return "no problem";
  const TomlProblem& first = document.problems[0];
  return std::to_string(first.line) + ": " + first.key + ": " + first.what;
}

TEST(Toml, ReadsTablesInAnArray) {
  const std::string line = R"(["a", {path = "b", weight = 0.5}, {n = -1}])";
  const TomlValue value = only_value("a = " + line);
  EXPECT_EQ(value, TomlValue(TomlTables{
                       {{{"", "a"}}}, {{{"path", "b"}, {"weight", 0.5}}}, {{{"n", int64_t(-1)}}}}));
  EXPECT_EQ(to_text(value), line);
  EXPECT_EQ(type_name(value), "an array");
  TomlValue other;
  std::string what;
  for (const auto& [wrong, words] : std::map<std::string, std::string>{
           {"[{}]", "a table looks like {key = value, key = value}"},
           {"[{a}]", "key = value wants ="},
           {"[{a = 1 b = 2}]", "a table wants , between its keys and } at its end"},
           {"[{a = 1, a = 2}]", "a stands twice in one table"},
           {"[{a = [1]}]", "an array inside an array is not read"},
           {"[{a = {b = 1}}]", "{inline tables} are not read; write a [section] or dotted keys"},
           {"{a = 1}", "{inline tables} are not read; write a [section] or dotted keys"}}) {
    EXPECT_FALSE(parse_toml_value(wrong, other, what)) << wrong;
    EXPECT_EQ(what, words) << wrong;
  }
}

TEST(Toml, PassesOverAByteOrderMarkAtItsStart) {
  const TomlDocument marked = parse_toml(
      "\xEF\xBB\xBF"
      "a = 1\n[b]\nc = 2\n");
  EXPECT_TRUE(marked.problems.empty());
  ASSERT_EQ(marked.entries.size(), 2u);
  EXPECT_EQ(marked.entries[0].key, "a");
  EXPECT_EQ(marked.entries[0].line, 1);
  EXPECT_EQ(parse_toml("a = 1\n\xEF\xBB\xBF"
                       "b = 2\n")
                .problems.size(),
            1u);
}

TEST(Toml, NamesTheLineThatConvertsUtf16) {
  const TomlDocument wide =
      parse_toml(std::string_view("\xFF\xFE"
                                  "a\0=\0001\0",
                                  8));
  ASSERT_EQ(wide.problems.size(), 1u);
  EXPECT_EQ(wide.problems[0].what,
            "the file is UTF-16 text; write it as UTF-8: iconv -f UTF-16 -t "
            "UTF-8 FILE > NEW");
}

TEST(Toml, ReadsEveryKindOfValue) {
  EXPECT_EQ(only_value("a = true"), TomlValue(true));
  EXPECT_EQ(only_value("a = -1_000"), TomlValue(int64_t(-1000)));
  EXPECT_EQ(only_value("a = 5e8"), TomlValue(5e8));
  EXPECT_EQ(only_value("a = +0.25"), TomlValue(0.25));
  EXPECT_EQ(only_value("a = \"x # y\" # comment"), TomlValue(std::string("x # y")));
  EXPECT_EQ(only_value("a = 'C:\\x'"), TomlValue(std::string("C:\\x")));
  EXPECT_EQ(only_value("a = [0.9, 1]"), TomlValue(TomlArray{0.9, int64_t(1)}));
}

TEST(Toml, ReadsEscapesOfBasicStrings) {
  EXPECT_EQ(only_value(R"(a = "\t\"\\\u00e9\U0001F600")"),
            TomlValue(std::string("\t\"\\\u00e9\U0001F600")));
}

TEST(Toml, ReadsAnArrayOverSeveralLinesWithCommentsAndATrailingComma) {
  EXPECT_EQ(only_value("a = [ # first\n  1,\r\n\n  2, # last\n]\n"),
            TomlValue(TomlArray{int64_t(1), int64_t(2)}));
}

TEST(Toml, JoinsSectionsAndDottedKeysAndKeepsLines) {
  const TomlDocument document = parse_toml("x = 1\n\n[a.b]\ny = 2\nc . d = 3\r\n");
  ASSERT_TRUE(document.problems.empty());
  ASSERT_EQ(document.entries.size(), 3u);
  EXPECT_EQ(document.entries[0].key, "x");
  EXPECT_EQ(document.entries[1].key, "a.b.y");
  EXPECT_EQ(document.entries[1].line, 4);
  EXPECT_EQ(document.entries[2].key, "a.b.c.d");
  EXPECT_EQ(document.entries[2].line, 5);
}

TEST(Toml, RefusesDuplicatesAndNamesTheFirst) {
  EXPECT_THAT(problem("[a]\nb = 1\nb = 2"),
              HasSubstr("3: a.b: the key stands twice, first in line 2"));
  EXPECT_THAT(problem("[a]\n[a]"), HasSubstr("2: a: the section stands twice"));
  EXPECT_THAT(problem("a = 1\na.b = 2"), HasSubstr("2: a.b: is both a value and a section"));
  EXPECT_THAT(problem("a.b = 1\na = 2"), HasSubstr("2: a: is both a value and a section"));
}

TEST(Toml, RefusesWhatTheSubsetLeavesOutAndSaysWhatWorks) {
  EXPECT_THAT(problem("a = {b = 1}"), HasSubstr("write a [section]"));
  EXPECT_THAT(problem("[[a]]"), HasSubstr("write [section]"));
  EXPECT_THAT(problem("a = \"\"\"x\"\"\""), HasSubstr("write one line"));
  EXPECT_THAT(problem("a = [[1]]"), HasSubstr("array inside an array"));
  EXPECT_THAT(problem("\"a\" = 1"), HasSubstr("without quotes"));
  EXPECT_THAT(problem("a = 2026-01-01"), HasSubstr("is no value"));
  EXPECT_THAT(problem("a = nan"), HasSubstr("is no value"));
  EXPECT_THAT(problem("a = yes"), HasSubstr("text stands in \"quotes\""));
}

TEST(Toml, RefusesMalformedNumbers) {
  for (const char* number : {"01", "1_", "_1", "1__0", "1.", ".5", "1e", "0x10", "--1", "1.5.2"}) {
    EXPECT_THAT(problem(std::string("a = ") + number), HasSubstr("1: a: ")) << number;
  }
  EXPECT_THAT(problem("a = 9223372036854775808"), HasSubstr("too large"));
  EXPECT_THAT(problem("a = 1e999"), HasSubstr("too large"));
  EXPECT_EQ(only_value("a = 9223372036854775807"), TomlValue(INT64_MAX));
}

TEST(Toml, RefusesBrokenLinesAndReadsOnAtTheNext) {
  const TomlDocument document =
      parse_toml("a = \"open\nb = 1 2\n[c\nd\n[e] f\ng = \ng = [1 2]\nh = 1");
  std::string lines;
  for (const TomlProblem& p : document.problems) lines += std::to_string(p.line) + " ";
  EXPECT_EQ(lines, "1 2 3 4 5 6 7 ");
  ASSERT_EQ(document.entries.size(), 2u);
  EXPECT_EQ(document.entries[1].key, "e.h");
}

TEST(Toml, RefusesBytesThatAreNoText) {
  EXPECT_THAT(problem("a = 1\nb = \"\xFF\""), HasSubstr("2: : byte 255 is no UTF-8 text"));
  EXPECT_THAT(problem("# caf\xE9\nb = 1"), HasSubstr("1: : byte 233 is no UTF-8 text"));
  EXPECT_THAT(problem(std::string_view("a = 1\0", 6)), HasSubstr("byte 0 is no text"));
  EXPECT_THAT(problem("a = \"\xC3"), HasSubstr("cut off"));
}

TEST(Toml, KnowsPythonsBooleans) {
  EXPECT_THAT(problem("a = True"), HasSubstr("write true"));
  EXPECT_THAT(problem("a = False"), HasSubstr("write false"));
}

TEST(Toml, KeepsItsLimits) {
  const std::string long_file(kTomlMaxBytes + 1, '\n');
  EXPECT_THAT(problem(long_file), HasSubstr("at most 65536"));
  EXPECT_EQ(problem(long_file.substr(1)), "no problem");
  EXPECT_THAT(problem("#" + std::string(kTomlMaxLine, 'x')), HasSubstr("a line of more than 4000"));
  EXPECT_EQ(problem("a.b.c.d.e.f.g.h = 1"), "no problem");
  EXPECT_THAT(problem("a.b.c.d.e.f.g.h.i = 1"), HasSubstr("more than 8 parts"));
  std::string wrong;
  for (int i = 0; i < 1000; ++i) wrong += "?\n";
  EXPECT_EQ(parse_toml(wrong).problems.size(), kTomlMaxProblems);
}

TEST(Toml, EndsOnEveryPrefixOfAFile) {
  const std::string text = "[a.b]\nc = [1, 'x', \"\\u00e9\"] # y\nd = -1.5e-3\n";
  for (size_t n = 0; n <= text.size(); ++n) {
    EXPECT_LE(parse_toml(text.substr(0, n)).entries.size(), 2u);
  }
}

TEST(Toml, ReadsOneValueThatFillsAText) {
  TomlValue value;
  std::string what;
  EXPECT_TRUE(parse_toml_value("[1, 2]", value, what));
  EXPECT_EQ(to_text(value), "[1, 2]");
  EXPECT_FALSE(parse_toml_value("1 2", value, what));
  EXPECT_FALSE(parse_toml_value("", value, what));
}

TEST(Toml, PrintsAValueAsItReadsIt) {
  for (const char* text :
       {"true", "-3", "0.5", "1.0", "1e-08", "\"a \\\"b\\\" \\\\\"", "[1, \"x\"]"}) {
    TomlValue value, again;
    std::string what;
    ASSERT_TRUE(parse_toml_value(text, value, what)) << text << what;
    EXPECT_EQ(to_text(value), text);
    ASSERT_TRUE(parse_toml_value(to_text(value), again, what));
    EXPECT_EQ(value, again);
  }
}

}  // namespace
}  // namespace zero
