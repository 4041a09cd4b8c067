// Ranks: 1
#include "zero/io/interop/json.hpp"

#include <gtest/gtest.h>

#include "tests/support/equal_hashes.hpp"
#include "tests/support/processor_time.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

/// Every event as a word: "a.b=1", "a{", "a[".
class Words : public JsonSink {
 public:
  void open(Path path, bool is_array) override { add(path, is_array ? "[" : "{"); }
  void value(Path path, const JsonScalar& value) override {
    add(path, "=" + std::visit([](const auto& v) { return in_words(v); }, value));
  }
  std::string all;

 private:
  static std::string in_words(std::nullptr_t) { return "null"; }
  static std::string in_words(bool v) { return v ? "true" : "false"; }
  static std::string in_words(int64_t v) { return std::to_string(v); }
  static std::string in_words(double v) { return text("double ", v); }
  static std::string in_words(const std::string& v) { return "'" + v + "'"; }
  void add(Path path, const std::string& what) {
    std::string key;
    for (const std::string& part : path) key += (key.empty() ? "" : ".") + part;
    if (!all.empty()) all += ' ';
    all += key + what;
  }
};

std::string words(std::string_view json, const JsonLimits& limits = {}) {
  Words sink;
  read_json(json, "x.json", limits, sink);
  return sink.all;
}

std::string refusal_of_json(std::string_view json, const JsonLimits& limits = {}) {
  return testing_support::refusal_of(Exit::kInput, [&] { words(json, limits); });
}

TEST(ReadJson, TellsPathsAndValuesInOrder) {
  EXPECT_EQ(words(R"({"a": {"b": 1, "c": [2, -3]}, "d": null, "e": "x\u0041"})"),
            "{ a{ a.b=1 a.c[ a.c=2 a.c=-3 d=null e='xA'");
  EXPECT_EQ(words(R"({"a": [{"b": true}, {"b": 0.5}], "c": 18446744073709551615})"),
            "{ a[ a{ a.b=true a{ a.b=double 0.5 c=double 1.84467e+19");
  EXPECT_EQ(words(R"({"a": 9223372036854775807, "b": 9223372036854775808})"),
            "{ a=9223372036854775807 b=double 9.22337e+18")
      << "the largest that an int64_t holds stays an integer";
}

TEST(ReadJson, NamesThePlaceOfWhatIsNoJson) {
  EXPECT_NE(refusal_of_json(R"({"a": tru})").find("x.json: byte 10"), std::string::npos);
  for (const char* bad :
       {"", "3", "[1]", "\"a\"", "{'a': 1}", "{\"a\": 1,}", "{} 1", "{\"a\": NaN}"}) {
    EXPECT_NE(refusal_of_json(bad), "") << bad;
  }
}

TEST(ReadJson, SaysOfNumbersBeyondADoubleWhatTheyAre) {
  const std::string told = refusal_of_json(R"({"a": 1e999})");
  EXPECT_NE(told.find("number overflow parsing '1e999'"), std::string::npos) << told;
  EXPECT_EQ(told.find("json.exception"), std::string::npos) << told;
}

TEST(ReadJson, KeepsItsLimits) {
  EXPECT_NE(refusal_of_json(R"({"a": 1, "a": 2})").find("\"a\" stands twice"), std::string::npos);
  EXPECT_EQ(refusal_of_json(R"({"a": {"x": 1}, "b": {"x": 1}})"), "")
      << "two objects, one key each";
  EXPECT_NE(refusal_of_json(R"({"a": [[1]]})", {.depth = 2}).find("nested deeper than 2"),
            std::string::npos);
  EXPECT_NE(refusal_of_json(R"({"a": 1, "b": 2, "c": 3})", {.keys = 2}).find("more than 2 keys"),
            std::string::npos);
}

TEST(ReadJson, TakesTimeByItsLengthWhateverTheKeys) {
  std::string json = "{";
  for (const std::string& key : testing_support::texts_of_one_hash(1 << 16))
    json += (json.size() > 1 ? ",\"" : "\"") + key + "\":0";
  json += "}";
  EXPECT_LT(testing_support::processor_seconds([&] { words(json); }), 3);
}

TEST(Shown, CutsAndTakesControlCharactersOut) {
  EXPECT_EQ(shown("a\nb\x1b[31m"), "a?b?[31m");
  EXPECT_EQ(shown(std::string(100, 'x')), std::string(80, 'x') + "...");
}

}  // namespace
}  // namespace zero
