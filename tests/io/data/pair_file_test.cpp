// Ranks: 1

#include "io/data/pair_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing_support::TempFile;

using Texts = std::vector<std::pair<std::string, std::string>>;

const PairFields kFields{.source = "translation.en", .target = "translation.ro"};

Texts read_all(const std::string& path, const PairFields& fields = kFields) {
  const auto file = open_pair_file(path, fields);
  Texts all;
  for (int64_t i = 0; i < file->pairs(); ++i) {
    const TextPair pair = file->read(i);
    all.emplace_back(pair.source, pair.target);
  }
  return all;
}

std::string error_of_pair_file(const std::string& path, const PairFields& fields = kFields) {
  try {
    read_all(path, fields);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput) << error.what();
    return error.what();
  }
  return "no error";
}

std::string json_error(const std::string& line) {
  const TempFile file("pairs.jsonl", "{\"translation\": {\"en\": \"a\", \"ro\": \"b\"}}\n" + line);
  const std::string error = error_of_pair_file(file.path());
  if (error != "no error") {
    EXPECT_THAT(error, StartsWith(file.path() + ": line 2: "));
  }
  return error;
}

std::string table_error(const std::string& name, const std::string& content) {
  const TempFile file(name, content);
  return error_of_pair_file(file.path(), {"en", "ro"});
}

TEST(JsonPairs, AreFoundInObjectsAndUnderFlatNames) {
  const TempFile file("pairs.jsonl",
                      "{\"id\": [1, {\"x\": 2}], \"translation\": {\"en\": \"a\\nb\", \"ro\": "
                      "\"\\u0103\"}}\n{\"translation.ro\": \"d\", \"translation.en\": \"c\"}");
  EXPECT_EQ(read_all(file.path()), (Texts{{"a\nb", "\xC4\x83"}, {"c", "d"}}));
  const TempFile flat("pairs.json", "{\"q\": \"c\", \"a\": \"d\"}\n");
  EXPECT_EQ(read_all(flat.path(), {"q", "a"}), (Texts{{"c", "d"}}));
}

TEST(PairFile, OfAnotherKindIsToldByItsBytesWhateverItsName) {
  for (const char* name : {"pairs.gz", "pairs.jsonl", "pairs.source", "pairs"}) {
    const TempFile file(name, "\x1f\x8b\x08 and more");
    EXPECT_THAT(error_of_pair_file(file.path(), kFields), HasSubstr("gzip -dc")) << name;
  }
}

TEST(JsonPairs, AListOfAllPairsInOneLineIsToldAtOnce) {
  const TempFile file("pairs.json", "{\"data\": [{\"en\": \"a\", \"ro\": \"b\"}]}\n");
  EXPECT_THROW(open_pair_file(file.path(), {"en", "ro"}), Error);
  EXPECT_THAT(error_of_pair_file(file.path(), {"en", "ro"}), HasSubstr("jq -c"));
}

TEST(JsonPairs, OfKeysThatBeginAlikeTheNamedOneIsRead) {
  const TempFile file("pairs.jsonl",
                      "{\"trans\": [1], \"translation\": {\"e\": [\"no\"], \"english\": \"no\", "
                      "\"en\": \"a\", \"ro\": \"b\"}, \"translations\": {\"en\": \"no\"}}\n");
  EXPECT_EQ(read_all(file.path()), (Texts{{"a", "b"}}));
  const TempFile flat("pairs.json",
                      "{\"question\": \"no\", \"q\": \"c\", \"a\": \"d\", \"ab\": \"no\"}\n");
  EXPECT_EQ(read_all(flat.path(), {"q", "a"}), (Texts{{"c", "d"}}));
}

TEST(JsonPairs, ADamagedLineIsNamed) {
  EXPECT_THAT(json_error("{\"translation\": {\"en\": \"a\"}}"),
              HasSubstr("has no text \"translation.ro\" but \"translation.en\"; data.source"));
  EXPECT_THAT(json_error("{\"translation\": {\"en\": 1, \"ro\": \"b\"}}"),
              HasSubstr("\"translation.en\" is no text"));
  EXPECT_THAT(json_error("{\"translation\": {\"en\": [\"a\"], \"ro\": \"b\"}}"),
              HasSubstr("no text but an array"));
  EXPECT_THAT(json_error("{\"translation\": [{\"en\": \"a\", \"ro\": \"b\"}]}"),
              HasSubstr("no text but an array, or in one"));
  EXPECT_THAT(json_error("{\"translation\": {\"en\": \"a\", \"ro\": \"b\"}, \"translation.en\": "
                         "\"c\"}"),
              HasSubstr("stands there twice"));
  EXPECT_THAT(json_error("{\"translation\": {\"en\": \"a\", \"ro\": \"b\"}"), HasSubstr("no JSON"));
  EXPECT_THAT(json_error("\n{}"), HasSubstr("is blank; remove it, as each line is one object"));
  EXPECT_THAT(json_error("{\"translation\": {\"en\": null, \"ro\": \"b\"}}"),
              HasSubstr("is no text but null; write \"\" for an empty text"));
  EXPECT_THAT(json_error("{\"translation\": {\"en\": 1.5, \"ro\": \"b\"}}"),
              HasSubstr("is no text but a number; put it in quotes"));
  EXPECT_THAT(json_error("\"a}\""), HasSubstr("which is no whole object"));
  EXPECT_THAT(json_error("{\"translation\": {\"en\": \"\xFF\"}}"), HasSubstr("no UTF-8"));
}

TEST(JsonPairs, OfAFileForPeopleAreRefusedWithWhatMakesLines) {
  const TempFile list("list.json", "[\n  {\n    \"en\": \"a\"\n  }\n]\n");
  EXPECT_EQ(error_of_pair_file(list.path()),
            list.path() +
                ": line 1: holds \"[\", which is no whole object; write one object a line, "
                "as jq -c '.[]' makes them of a list and jq -c . of objects");
  const TempFile objects("objects.json", "{\n  \"en\": \"a\"\n}\n");
  EXPECT_THAT(error_of_pair_file(objects.path()),
              HasSubstr("line 1: holds \"{\", which is no whole"));
  const TempFile one("one.json", "[{\"en\": \"a\", \"ro\": \"b\"}]");
  EXPECT_THAT(error_of_pair_file(one.path()), HasSubstr("jq -c '.[]'"));
}

TEST(JsonPairs, InAListOfAnObjectAreRefusedWithItsName) {
  const auto refusal = [](const std::string& json) {
    const TempFile file("object.json", json);
    return error_of_pair_file(file.path(), {"en", "ro"});
  };
  const std::string list = R"([{"en": "a", "ro": "b"}, {"en": "c", "ro": "d"}])";
  EXPECT_THAT(refusal("{\"data\": " + list + "}"),
              HasSubstr("line 1: is one object with a list of objects in it, \"data\"; write one "
                        "object a line: jq -c '.data[]' FILE > NEW.jsonl"));
  EXPECT_THAT(refusal("{\"n\": [1], \"a\": {\"my rows\": " + list + "}}"),
              HasSubstr("jq -c '.a.\"my rows\"[]'"))
      << "the list that has both";
  for (const std::string other :
       {R"([{"en": "a", "de": "b"}])", R"([["en", "ro"]])", R"([[{"en": "a", "ro": "b"}]])"})
    EXPECT_THAT(refusal("{\"data\": " + other + ", \"x\": \"y\"}"),
                AllOf(HasSubstr("has no text \""), Not(HasSubstr("jq"))))
        << other;
  EXPECT_THAT(refusal(R"({"text": "a", "tags": [{"k": "v"}]})"),
              HasSubstr("has no text \"en\" but \"text\", \"tags.k\"; data.source_field"));
  EXPECT_THAT(refusal(R"({"en": ["a", "c"], "ro": ["b", "d"]})"),
              HasSubstr("\"en\" is no text but an array, or in one; write one object a line"));
}

TEST(JsonPairs, HaveOneFormUnderThreeNames) {
  for (const char* name : {"same.jsonl", "same.ndjson", "same.json"}) {
    const TempFile file(name, "{\"en\": \"a\", \"ro\": \"b\"}\n");
    EXPECT_EQ(read_all(file.path(), {"en", "ro"}), (Texts{{"a", "b"}})) << name;
  }
}

TEST(LinePairs, AreLinesOfTheSameNumber) {
  const TempFile source("a.source", "one\r\n\ntwo\n");
  const TempFile target("a.target", "eins\n\nzwei");
  EXPECT_EQ(read_all(source.path()), (Texts{{"one", "eins"}, {"", ""}, {"two", "zwei"}}));
  EXPECT_THAT(error_of_pair_file(target.path()), HasSubstr("write the .source beside it"));
  target.write("eins\n");
  EXPECT_THAT(error_of_pair_file(source.path()), HasSubstr("has 3 lines, but "));
  EXPECT_THAT(error_of_pair_file(source.path()), HasSubstr("a.target beside it has 1"));
}

int64_t blank_lines_of(const std::string& path, const PairFields& fields = {"en", "ro"}) {
  return open_pair_file(path, fields)->blank_lines();
}

TEST(PairFile, PassesOverBlankLinesAtItsEndAndCountsThem) {
  const std::string pair = "{\"en\": \"a\", \"ro\": \"b\"}\n";
  for (const auto& [name, good, blank] : {std::tuple("e.jsonl", pair, "\n"),
                                          {"t.jsonl", pair, "\t \n"},
                                          {"e.csv", "en,ro\na,b\n", "\r\n"},
                                          {"e.tsv", "en\tro\na\tb\n", " \n"}}) {
    const TempFile file(name, good + blank + blank);
    EXPECT_EQ(read_all(file.path(), {"en", "ro"}), (Texts{{"a", "b"}})) << name;
    EXPECT_EQ(blank_lines_of(file.path()), 2) << name;
    file.write("\n\n");
    EXPECT_THAT(error_of_pair_file(file.path(), {"en", "ro"}),
                HasSubstr("line 1: holds blank lines alone; write the path of a file of pairs"));
  }
}

TEST(TablePairs, OfTwoEmptyFieldsBetweenTabsAreNoBlankLine) {
  const TempFile file("f.tsv", "en\tro\na\tb\n\t\n\n");
  EXPECT_EQ(read_all(file.path(), {"en", "ro"}), (Texts{{"a", "b"}, {"", ""}}));
  EXPECT_EQ(blank_lines_of(file.path()), 1);
}

TEST(LinePairs, EndWithTheLastTextOfEither) {
  const TempFile source("e.source", "one\ntwo\n\n"), target("e.target", "eins\n\n");
  EXPECT_EQ(read_all(source.path()), (Texts{{"one", "eins"}, {"two", ""}}));
  EXPECT_EQ(blank_lines_of(source.path()), 1);
  target.write("eins\nzwei");
  EXPECT_EQ(read_all(source.path()), (Texts{{"one", "eins"}, {"two", "zwei"}}));
  target.write("eins\nzwei\n\n\n\n");
  EXPECT_EQ(blank_lines_of(source.path()), 4);
  source.write("\n"), target.write("\n");
  EXPECT_THAT(error_of_pair_file(source.path()), HasSubstr("holds blank lines alone"));
}

TEST(LinePairs, NeedBothFiles) {
  const TempFile source("b.source", "one\n");
  EXPECT_THAT(error_of_pair_file(source.path()), HasSubstr("b.target"));
}

TEST(TablePairs, FollowTheNamesOfTheirFields) {
  const TempFile csv("a.csv", "id,ro,en\r\n1,b,a\r\n2,\"d, \"\"e\"\"\r\nf\",\"\"\r\n3,\"\",c d \n");
  EXPECT_EQ(read_all(csv.path(), {"en", "ro"}),
            (Texts{{"a", "b"}, {"", "d, \"e\"\r\nf"}, {"c d ", ""}}));
  const TempFile tsv("a.tsv", "en\tro\na \"b\tc\"\n\td");
  EXPECT_EQ(read_all(tsv.path(), {"en", "ro"}), (Texts{{"a \"b", "c\""}, {"", "d"}}));
}

TEST(TablePairs, ADamagedRecordIsNamedByTheLineOnWhichItBegins) {
  const std::string good = "en,ro\n\"a\nb\",c\n";
  EXPECT_THAT(table_error("a.csv", good + "d\n"), HasSubstr("line 4: has 1 field, the first line"));
  EXPECT_THAT(table_error("a.csv", good + "d,e,f\n"), HasSubstr("line 4: has 3 fields"));
  EXPECT_THAT(table_error("a.csv", good + "d,e\"f\n"), HasSubstr("line 4: column 4: a double"));
  EXPECT_THAT(table_error("a.csv", good + "d,\"e\"f\n"),
              HasSubstr("line 4: column 6: text behind"));
  EXPECT_THAT(table_error("a.csv", good + "d,\"e\n"), HasSubstr("line 4: a double quote is never"));
  EXPECT_THAT(table_error("a.tsv", "en\tro\na\tb\n\nc\td\n"), HasSubstr("line 3: has 1 field"));
}

TEST(TablePairs, RefuseAHeaderThatLacksAField) {
  EXPECT_THAT(table_error("a.csv", "en,de\na,b\n"),
              HasSubstr("line 1: names no field \"ro\" but en, de"));
  EXPECT_THAT(table_error("a.tsv", "en\tro\tro\na\tb\tc\n"),
              HasSubstr("names twice the field \"ro"));
  EXPECT_THAT(table_error("a.tsv", "en\tro\n"), HasSubstr("nothing follows the names"));
  EXPECT_THAT(table_error("a.csv", "en;ro\na;b\n"),
              HasSubstr("its fields end with semicolons, so write commas: python3 -c"));
  EXPECT_THAT(table_error("a.csv", "en\tro\na\tb\n"), HasSubstr("with a comma, so call it .tsv"));
  EXPECT_THAT(table_error("a.tsv", "en,ro\na,b\n"), HasSubstr("with a tab, so call it .csv"));
  EXPECT_THAT(table_error("a.csv", "hello,salut\nyes,da\n"),
              HasSubstr("where this line is a pair already, put a line with the names in front"));
}

TEST(PairFile, RefusesANameThatSaysNoFormat) {
  EXPECT_THAT(error_of_pair_file("pairs.txt"), HasSubstr(".jsonl, .csv, .tsv, or .source"));
}

// Texts of every kind of character that means something to a format, written by each and read back.

/// Up to 11 pieces that a format may stumble over.
std::string random_text(std::mt19937& random, const std::vector<std::string>& pieces) {
  std::string text;
  for (size_t i = random() % 12; i > 0; --i) text += pieces[random() % pieces.size()];
  return text;
}

std::string in_quotes(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

/// How a format writes pairs, and which characters it can.
struct Writer {
  std::string name;
  std::vector<std::string> pieces;
  std::function<std::string(const Texts&, std::mt19937&)> write;
};

const std::vector<Writer>& writers() {
  const std::vector<std::string> all = {"a",    "b c", "\"",  ",", "\t",       "\n",
                                        "\r\n", "\\",  "{",   "}", "\xC3\xA9", "\xF0\x9F\x98\x80",
                                        ":",    "[",   "\"\""};
  const std::vector<std::string> of_line = {"a", "b c", "\"", ",", "\\", "{", "\xC3\xA9", "\"\""};
  static const std::vector<Writer> kAll = {
      {"r.jsonl", all,
       [](const Texts& texts, std::mt19937& random) {
         std::string out;
         for (const auto& [source, target] : texts) {
           const nlohmann::json json = {{"n", 1}, {"en", source}, {"ro", target}};
           out += json.dump(-1, ' ', random() % 2) + "\n";
         }
         return out;
       }},
      {"r.csv", all,
       [](const Texts& texts, std::mt19937& random) {
         std::string out = "\"en\",n,ro\n";
         for (const auto& [source, target] : texts) {
           const bool plain = source.find_first_of(",\"\r\n") == source.npos && random() % 2;
           out += (plain ? source : in_quotes(source)) + ",x," + in_quotes(target);
           out += random() % 2 ? "\n" : "\r\n";
         }
         return out;
       }},
      {"r.tsv", of_line, [](const Texts& texts, std::mt19937&) {
         std::string out = "ro\ten\n";
         for (const auto& [source, target] : texts) out += target + "\t" + source + "\n";
         return out;
       }}};
  return kAll;
}

Texts random_texts(std::mt19937& random, const std::vector<std::string>& pieces) {
  Texts texts(1 + random() % 5);
  for (auto& [source, target] : texts) {
    source = random_text(random, pieces);
    target = random_text(random, pieces);
  }
  return texts;
}

TEST(PairFile, ReadsBackWhatEachFormatWrites) {
  std::mt19937 random(1);
  for (const Writer& writer : writers()) {
    for (int round = 0; round < 300; ++round) {
      const Texts texts = random_texts(random, writer.pieces);
      const TempFile file(writer.name, writer.write(texts, random));
      ASSERT_EQ(read_all(file.path(), {"en", "ro"}), texts) << writer.write(texts, random);
    }
  }
}

/// Changes, takes away, doubles or adds bytes at a few places.
std::string damaged(std::string content, std::mt19937& random) {
  constexpr std::string_view kBytes = "\"\"\"{}[],:\t\n\r\\\xC3\xFFua0";
  for (size_t i = 1 + random() % 4; i > 0; --i) {
    const size_t at = random() % content.size();
    const char byte = kBytes[random() % kBytes.size()];
    switch (random() % 4) {
      case 0:
        content[at] = byte;
        break;
      case 1:
        content.insert(at, 1, byte);
        break;
      case 2:
        content.erase(at, 1 + random() % 5);
        break;
      default:
        content.insert(at, content.substr(at, random() % 20));
    }
    if (content.empty()) content = "x";
  }
  return content;
}

TEST(PairFile, ADamagedFileIsReadOrRefusedByItsLineAndNothingElse) {
  std::mt19937 random(2);
  std::map<std::string, int> refused;
  for (const Writer& writer : writers()) {
    for (int round = 0; round < 1000; ++round) {
      const TempFile file(
          writer.name, damaged(writer.write(random_texts(random, writer.pieces), random), random));
      const std::string error = error_of_pair_file(file.path(), {"en", "ro"});
      if (error == "no error") continue;
      ++refused[writer.name];
      EXPECT_THAT(error, StartsWith(file.path() + ": line "));
    }
  }
  for (const Writer& writer : writers()) EXPECT_GT(refused[writer.name], 100) << writer.name;
}

}  // namespace
}  // namespace zero
