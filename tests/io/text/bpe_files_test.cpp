// Ranks: 1

#include "io/text/bpe_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/bpe_folder.hpp"
#include "tests/support/equal_hashes.hpp"
#include "tests/support/processor_time.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing_support::BpeFolder;

/// What refuses the folder, which must be an input error.
std::string error_of_bpe(const std::string& folder) {
  try {
    read_bpe_files(folder);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput) << error.what();
    return error.what();
  }
  return "no error";
}

/// A good folder, one of whose files is replaced.
class BpeFilesTest : public ::testing::Test {
 protected:
  std::string error_with(const std::string& name, const std::string& content) {
    folder_.write(name, content);
    return error_of_bpe(folder_.path());
  }
  std::string vocabulary_with(const std::string& from, const std::string& to) {
    std::string content = folder_.read("vocab.json");
    const size_t at = content.find(from);
    EXPECT_NE(at, content.npos) << from;
    folder_.write("vocab.json", content.replace(at, from.size(), to));
    const std::string error = error_of_bpe(folder_.path());
    folder_.write("vocab.json", good_);
    return error;
  }

  BpeFolder folder_{{{"h", "e"}, {"t", "he"}}, {"<|end of text|>"}};
  const std::string good_ = folder_.read("vocab.json");
};

TEST_F(BpeFilesTest, AreReadIntoTokensBytesAndMerges) {
  const BpeFiles files = read_bpe_files(folder_.path());
  ASSERT_EQ(files.tokens.size(), 259u);
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(files.byte_ids[size_t(byte)], byte);
    EXPECT_EQ(files.tokens[size_t(byte)], std::string(1, char(byte)));
  }
  EXPECT_EQ(files.tokens[257], "the");
  EXPECT_EQ(files.tokens[258], "<|end of text|>");
  ASSERT_EQ(files.merges.size(), 2u);
  EXPECT_EQ(files.merges[1].left, 't');
  EXPECT_EQ(files.merges[1].right, 256);
  EXPECT_EQ(files.merges[1].result, 257);
}

TEST_F(BpeFilesTest, NameTheCommandThatMakesThem) {
  const std::string how =
      "python3 tools/data/bpe.py TEXT --vocab-size 50257 --out " + folder_.path();
  EXPECT_THAT(error_of_bpe("/nonexistent/gpt2"),
              AllOf(HasSubstr("/nonexistent/gpt2: is no folder"), HasSubstr("\"bytes\""),
                    EndsWith("--out /nonexistent/gpt2")));
  std::filesystem::remove(folder_.path() + "/merges.txt");
  EXPECT_THAT(error_of_bpe(folder_.path()),
              AllOf(HasSubstr("merges.txt: is missing"), EndsWith(how)));
  std::filesystem::remove(folder_.path() + "/vocab.json");
  EXPECT_THAT(error_of_bpe(folder_.path()),
              AllOf(HasSubstr("vocab.json: is missing"), EndsWith(how)));
}

TEST_F(BpeFilesTest, RefuseWhatIsNoJsonObjectAtItsOffset) {
  const auto error = [&](const std::string& json) { return error_with("vocab.json", json); };
  EXPECT_THAT(error(""), HasSubstr("vocab.json: offset 1: is no JSON"));
  EXPECT_THAT(error("{\"a\": 1,}"), HasSubstr("vocab.json: offset 9: is no JSON"));
  EXPECT_THAT(error("{\"a\": 0} x"), HasSubstr("offset 10: is no JSON"));
  EXPECT_THAT(error("{\"a\xFF\": 0}"), HasSubstr("offset 4: is no JSON"));
  EXPECT_THAT(error("[1]"), HasSubstr("offset 1: an array"));
  EXPECT_THAT(error("7"), HasSubstr("a number where an object begins"));
  EXPECT_THAT(error("{\"a\": {\"b\": 1}}"), HasSubstr("offset 7: an object inside"));
  EXPECT_THAT(error(std::string(1 << 20, '[')), HasSubstr("offset 1: an array"));
  EXPECT_THAT(error("{\"a\": \"0\"}"), HasSubstr("offset 9: a string where an id"));
  EXPECT_THAT(error("{\"a\": 1.5}"), HasSubstr("no integer"));
  EXPECT_THAT(error("{\"a\": -1}"), HasSubstr("id -1 is below 0"));
  EXPECT_THAT(error("{\"a\": null}"), HasSubstr("null"));
  EXPECT_THAT(error("{\"a\": true}"), HasSubstr("a boolean"));
  EXPECT_THAT(error("{\"a\": 1048576}"), HasSubstr("id 1048576, at most 1048575"));
  EXPECT_THAT(error("{\"a\": 99999999999999999999999}"), HasSubstr("no integer"));
  EXPECT_THAT(error("{\"\": 1}"), HasSubstr("offset 3: an empty entry"));
}

TEST_F(BpeFilesTest, RefuseEntriesAndIdsThatComeTwiceOrAreMissing) {
  EXPECT_THAT(vocabulary_with("\"the\":257", "\"he\":257"), HasSubstr("'he' comes twice"));
  EXPECT_THAT(vocabulary_with("\"the\":257", "\"the\":104"),
              HasSubstr("id 104 of 'the' is that of 'h'"));
  EXPECT_THAT(vocabulary_with("\"the\":257", "\"the\":300"),
              HasSubstr("no entry has id 257, but 300 is one"));
  EXPECT_THAT(vocabulary_with("\"z\":", "\"zz\":"),
              HasSubstr("vocab.json: has no 'z', which is byte 122"));
  EXPECT_THAT(vocabulary_with("\"\u0120\":", "\"zz\":"), HasSubstr("which is byte 32"));
}

TEST_F(BpeFilesTest, RefuseALineOfMergesByItsNumber) {
  const auto error = [&](const std::string& lines) { return error_with("merges.txt", lines); };
  EXPECT_EQ(error("#version: 0.2\nh e\n"), "no error");
  EXPECT_EQ(error("h e\r\nt he"), "no error");
  EXPECT_EQ(error(""), "no error");
  EXPECT_THAT(error("h e\n\nt he\n"), HasSubstr("merges.txt: line 2: '' is not two entries"));
  EXPECT_THAT(error("h e\nthe\n"), HasSubstr("line 2: 'the' is not two entries"));
  EXPECT_THAT(error("h  e\n"), HasSubstr("line 1: 'h  e' is not two entries"));
  EXPECT_THAT(error(" he\n"), HasSubstr("line 1"));
  EXPECT_THAT(error("he \n"), HasSubstr("line 1"));
  EXPECT_THAT(error("h e\nq u\n"), HasSubstr("line 2: vocab.json has no 'qu'"));
  EXPECT_THAT(error("h e\nhex a\n"), HasSubstr("line 2: vocab.json has no 'hex'"));
  EXPECT_THAT(error("h e\nh e\n"), HasSubstr("line 2: 'h e' is merged by an earlier line"));
  EXPECT_THAT(error("h\xC3( e\n"), HasSubstr("has no 'h?('"));
  EXPECT_THAT(error("h\x01 " + std::string(1000, 'x')), HasSubstr("has no 'h?'"));
  EXPECT_THAT(error("h \u65e5\n"), HasSubstr("has no '\u65e5'"));
  EXPECT_THAT(error("h " + std::string(1000, 'x')),
              HasSubstr("has no '" + std::string(40, 'x') + "...'"));
}

TEST_F(BpeFilesTest, RefuseFilesBeyondTheirLimits) {
  std::filesystem::resize_file(folder_.path() + "/vocab.json", (64 << 20) + 1);
  EXPECT_THAT(error_of_bpe(folder_.path()), HasSubstr("vocab.json: has 67108865 bytes"));
  folder_.write("vocab.json", good_);
  EXPECT_THAT(error_with("merges.txt", std::string(1 << 21, '\n')),
              HasSubstr("2097153 lines, at most 2097152"));
}

TEST_F(BpeFilesTest, FingerprintChangesWithEveryEntryIdAndMerge) {
  std::set<uint64_t> seen;
  const auto note = [&] { seen.insert(read_bpe_files(folder_.path()).fingerprint); };
  note();
  folder_.write("merges.txt", "t he\nh e\n");
  note();
  folder_.write("merges.txt", "h e\n");
  note();
  std::string renamed = good_;
  folder_.write("vocab.json", renamed.replace(renamed.find("end of"), 3, "END"));
  note();
  std::string swapped = good_;
  swapped.replace(swapped.find("\"a\":97"), 6, "\"a\":98");
  folder_.write("vocab.json", swapped.replace(swapped.find("\"b\":98"), 6, "\"b\":97"));
  note();
  EXPECT_EQ(seen.size(), 5u);
}

TEST_F(BpeFilesTest, TakeTimeByTheirLengthWhateverTheirEntries) {
  nlohmann::json ids;
  for (const std::string& entry : testing_support::texts_of_one_hash(1 << 16))
    ids[entry] = ids.size();
  const std::string content = ids.dump();
  EXPECT_LT(testing_support::processor_seconds([&] { parse_bpe_vocabulary(content, "v", ""); }), 3);
}

}  // namespace
}  // namespace zero
