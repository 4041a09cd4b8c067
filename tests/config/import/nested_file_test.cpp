// Ranks: 1

#include "src/config/import/nested_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/damaged_text.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TomlValue only_value(std::string_view text) {
  const Source source = read_json(text, "x.json");
  EXPECT_EQ(source.size(), 1u);
  return source.size() == 1 ? source[0].value.value_or("null") : TomlValue("none");
}

std::string problem(std::string_view text) {
  try {
    read_json(text, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    return error.what();
  }
  return "no problem";
}

TEST(Json, ReadsEveryKindOfValue) {
  EXPECT_EQ(only_value(R"({"a": true})"), TomlValue(true));
  EXPECT_EQ(only_value(R"({"a": -7})"), TomlValue(int64_t(-7)));
  EXPECT_EQ(only_value(R"({"a": 2e8})"), TomlValue(2e8));
  EXPECT_EQ(only_value(R"({"a": "x # y"})"), TomlValue(std::string("x # y")));
  EXPECT_EQ(only_value(R"({"a": [0.9, 1,]})"), TomlValue(TomlArray{0.9, int64_t(1)}));
  EXPECT_FALSE(read_json(R"({"a": null})", "x")[0].value.has_value());
  EXPECT_TRUE(read_json(R"({"a": {}, "b": []})", "x").empty());
}

TEST(Json, ReadsEscapesAndPairsOfHalfCharacters) {
  EXPECT_EQ(only_value(R"({"a": "\t\"\\\/\u00e9\uD83D\uDE00"})"),
            TomlValue(std::string("\t\"\\/\u00e9\U0001F600")));
  EXPECT_THAT(problem(R"({"a": "\uD83D"})"), HasSubstr("no character"));
  EXPECT_THAT(problem(R"({"a": "\uD83D\u0041"})"), HasSubstr("half a character"));
}

TEST(Json, JoinsObjectsAndKeepsLines) {
  const Source source = read_json("{\n \"a\": {\n  \"b\": 1,\n \"c\": {\"d\": 2}}\n}", "x.json");
  ASSERT_EQ(source.size(), 2u);
  EXPECT_EQ(source[0].key, "a.b");
  EXPECT_EQ(source[0].place, "x.json:3");
  EXPECT_EQ(source[1].key, "a.c.d");
  EXPECT_EQ(source[1].place, "x.json:4");
}

TEST(Json, ReadsCommentsOfEveryKindAndTrailingCommas) {
  const Source source =
      read_json("// head\n{ # one\n /* two\n lines */ \"a\" /**/ : 1 /* x */, // y\n} // end", "x");
  ASSERT_EQ(source.size(), 1u);
  EXPECT_EQ(source[0].place, "x:4");
  EXPECT_THAT(problem("{\n/* open"), HasSubstr("x.json:2: the /* of line 2 has no */"));
}

TEST(Json, NamesTheLineOfWhatItCannotRead) {
  EXPECT_THAT(problem("[1]"), HasSubstr("x.json:1: the file is no { object }"));
  EXPECT_THAT(problem("{\n\"a\": 1\n\"b\": 2}"), HasSubstr("x.json:3: wants , or } before '\"'"));
  EXPECT_THAT(problem("{\"a\": 1"), HasSubstr("before the end of the file"));
  EXPECT_THAT(problem("{\"a\": True}"), HasSubstr("True is Python; write true"));
  EXPECT_THAT(problem("{a: 1}"), HasSubstr("double quotes"));
  EXPECT_THAT(problem("{\"a\": 1_000}"), HasSubstr("x.json:1: a value is no number of JSON"));
  EXPECT_THAT(problem("{\"a\": NaN}"), HasSubstr("NaN"));
  EXPECT_THAT(problem("{} x"), HasSubstr("unexpected 'x' behind the last }"));
  EXPECT_THAT(problem("{\"a.b\": 1}"), HasSubstr("a key is made of"));
}

TEST(Json, ShowsNoWordWithoutQuotesBecauseItMayBeASecret) {
  for (const char* word : {"S3CRET_a", "S3CRET", "+S3CRET", "1S3CRET", "53179999999999999999"}) {
    for (const std::string& json :
         {text("{\"api_key\": ", word, "}"), text("{\"a\": [", word, "]}"),
          text("{\"a\": [[", word, "]]}")}) {
      EXPECT_THAT(problem(json), AllOf(HasSubstr("is no number of JSON"), Not(HasSubstr("S3CRET")),
                                       Not(HasSubstr("5317"))))
          << json;
    }
  }
}

TEST(Json, TakesAListThatHoldsMoreThanPlainValuesAsOneText) {
  for (const char* json : {"{\"a\": [[1], 2]}", "{\"a\": [1, {\"b\": null, \"c\": [{}, \"x\"]},],}",
                           "{\"a\": [[]]}"}) {
    EXPECT_EQ(only_value(json), TomlValue("[...]")) << json;
  }
  EXPECT_THAT(problem("{\"a\": [{\"b\" 1}]}"), HasSubstr("x.json:1: a key wants : and a value"));
  EXPECT_THAT(problem("{\"a\": [{b: 1}]}"), HasSubstr("double quotes"));
  EXPECT_THAT(problem("{\"a\": [[1"), HasSubstr("before the end of the file"));
  EXPECT_THAT(problem("{\"a\": " + std::string(20, '[') + "1"), HasSubstr("in each other"));
}

TEST(Json, RefusesDuplicatesAndNamesTheFirst) {
  EXPECT_THAT(problem("{\"a\": 1,\n\"a\": 2}"),
              HasSubstr("x.json:2: a stands twice, first in line 1"));
  EXPECT_THAT(problem("{\"a\": {\"b\": 1}, \"a\": {\"c\": 2}}"), HasSubstr("a stands twice"));
}

TEST(Json, HasLimits) {
  std::string deep, many = "{";
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  for (int i = 0; i < 3000; ++i) many += "\"k" + std::to_string(i) + "\": 1,\n";
  EXPECT_THAT(problem(deep), HasSubstr("more than 8 objects"));
  EXPECT_THAT(problem(many + "}"), HasSubstr("more than 2000 keys"));
  EXPECT_THAT(problem("{\"" + std::string(300, 'a') + "\": 1}"), HasSubstr("at most 200"));
  EXPECT_THAT(problem(std::string(2'000'000, ' ')), HasSubstr("at most 1048576"));
  EXPECT_THAT(problem(std::string("{\0}", 3)), HasSubstr("byte 0"));
}

TEST(Json, PassesOverAByteOrderMarkAndNamesOtherEncodings) {
  EXPECT_EQ(read_json("\xEF\xBB\xBF{\"a\": 1}", "x")[0].place, "x:1");
  EXPECT_EQ(read_yaml("\xEF\xBB\xBF"
                      "a: 1",
                      "x")[0]
                .key,
            "a");
  EXPECT_THAT(problem("\xEF\xBB\xBF\xEF\xBB\xBF{}"), HasSubstr("no { object }"));
  const std::string_view wide = "{\0\"\0a\0\"\0:\0001\0}\0";
  const std::string little(wide.data(), 14), big = std::string(1, '\0') + little.substr(0, 13);
  EXPECT_THAT(problem("\xFF\xFE" + little),
              HasSubstr("x.json:1: the file is UTF-16 text; write it as UTF-8: iconv -f UTF-16 -t "
                        "UTF-8 FILE > NEW"));
  EXPECT_THAT(problem("\xFE\xFF" + big), HasSubstr("iconv -f UTF-16 "));
  EXPECT_THAT(problem(little), HasSubstr("iconv -f UTF-16LE "));
  EXPECT_THAT(problem(big), HasSubstr("iconv -f UTF-16BE "));
  EXPECT_THAT(problem(std::string("\xFF\xFE\0\0{\0\0\0", 8)), HasSubstr("iconv -f UTF-32 "));
}

TEST(PythonNumber, IsANumberHoweverPythonWritesIt) {
  const std::pair<const char*, TomlValue> numbers[] = {
      {"0.", 0.0},        {".0001", 1e-4}, {"1.e-4", 1e-4},          {"-.5", -0.5},
      {"+3", int64_t(3)}, {"5E-5", 5e-5},  {"1_000", int64_t(1000)}, {"007", int64_t(7)},
      {"00.5", 0.5},      {"2e8", 2e8}};
  for (const auto& [word, value] : numbers) EXPECT_EQ(python_number(word), value) << word;
  for (const char* word : {"", ".", "-", "e5", ".e5", "1.2.3", "1e", "--1", "0x10", "1,5", "_1"}) {
    EXPECT_FALSE(python_number(word)) << word;
  }
}

TEST(Json, EndsWithAnErrorOrAnObjectOnAnyBytes) {
  const std::string seed = R"({"a": {"b": [1, 2e8, "x\u00e9"], "c": null}, /* d */ "e": true,})";
  testing_support::read_damaged(seed, problem);
}

}  // namespace
}  // namespace zero
