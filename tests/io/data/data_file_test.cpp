// Ranks: 1

#include "io/data/data_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/temp_file.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::TempFile;

std::vector<std::string> records_of(const std::string& content, RecordEnd end = RecordEnd::line) {
  const TempFile file("records.txt", content);
  const RecordFile records(file.path(), "", end);
  std::vector<std::string> all;
  std::string room;
  for (int64_t i = 0; i < records.records(); ++i) all.emplace_back(records.read(i, room));
  return all;
}

std::string error_of_content(const std::string& content, RecordEnd end = RecordEnd::line) {
  try {
    records_of(content, end);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput);
    return error.what();
  }
  return "no error";
}

TEST(RecordFile, EndsLinesAsBothSystemsDoAndTheLastByTheFile) {
  EXPECT_THAT(records_of("a\nbc\r\n\nd"), ElementsAre("a", "bc", "", "d"));
  EXPECT_THAT(records_of("a\n"), ElementsAre("a"));
  EXPECT_THAT(records_of("\n"), ElementsAre(""));
}

TEST(RecordFile, PassesOverAByteOrderMark) {
  EXPECT_THAT(records_of("\xEF\xBB\xBF"
                         "a\nb"),
              ElementsAre("a", "b"));
}

TEST(RecordFile, KeepsLinesBetweenQuotesTogetherWhereThatIsAsked) {
  const std::string content = "\"a\nb\",c\nd\n";
  EXPECT_THAT(records_of(content), ElementsAre("\"a", "b\",c", "d"));
  EXPECT_THAT(records_of(content, RecordEnd::quoted_line), ElementsAre("\"a\nb\",c", "d"));
}

TEST(RecordFile, NamesTheLineOnWhichARecordBegins) {
  const TempFile file("records.csv", "\"a\nb\"\nc\n");
  const RecordFile records(file.path(), "", RecordEnd::quoted_line);
  EXPECT_EQ(records.place(0), file.path() + ": line 1");
  EXPECT_EQ(records.place(1), file.path() + ": line 3");
}

TEST(RecordFile, RefusesWhatIsNoTextByItsLine) {
  EXPECT_THAT(error_of_content("a\nb\xFF\n"),
              HasSubstr("records.txt: line 2: byte 255 is no UTF-8"));
  EXPECT_THAT(error_of_content("a\n\xC3"), HasSubstr("line 2: the last character is cut off"));
  EXPECT_THAT(error_of_content(""), HasSubstr("is empty"));
  EXPECT_THAT(error_of_content("\xEF\xBB\xBF"), HasSubstr("a byte order mark and no record"));
}

TEST(RecordFile, RefusesARecordWithoutAnEnd) {
  const std::string most(size_t(RecordFile::kMostBytes), 'x');
  EXPECT_THAT(error_of_content("a\n" + most + "x"), HasSubstr("line 2: more than 16777216 bytes"));
  EXPECT_EQ(error_of_content("a\n" + most.substr(1) + "\n"), "no error");
  EXPECT_THAT(error_of_content("a\n\"" + most, RecordEnd::quoted_line),
              HasSubstr("line 2: more than 16777216 bytes, as a double quote is never closed"));
}

TEST(RecordFile, FindsLinesThatLieAcrossThePiecesItReads) {
  std::string content;
  for (int i = 0; i < 700000; ++i) content += char('a' + i % 26), content += i % 3 ? "" : "\n";
  const std::vector<std::string> all = records_of(content);
  ASSERT_EQ(all.size(), 233334u);
  EXPECT_EQ(all[0] + all[1], "abcd");
  std::string joined;
  for (const std::string& one : all) joined += one;
  std::erase(content, '\n');
  EXPECT_EQ(joined, content);
}

TEST(RecordFile, CountsBlankRecordsAtItsEndAcrossThePiecesItReads) {
  const auto blank = [](const std::string& content, RecordEnd end = RecordEnd::line) {
    const TempFile file("records.txt", content);
    return RecordFile(file.path(), "", end).blank_at_end();
  };
  EXPECT_EQ(blank("a\n\nb"), 0);
  EXPECT_EQ(blank("a\n \t\r\n\n "), 3);
  EXPECT_EQ(blank("a\n\t\n\n", RecordEnd::tabbed_line), 1);
  EXPECT_EQ(blank("\xEF\xBB\xBF\n\n"), 2);
  EXPECT_EQ(blank("\"a\n\n\"\n\n", RecordEnd::quoted_line), 1);
  const std::string many(3'000'000, '\n');
  EXPECT_EQ(blank("a" + many), 2'999'999);
  EXPECT_EQ(blank(many), 3'000'000);
}

TEST(RecordFile, FingerprintChangesWithAnyByte) {
  const TempFile file("records.txt", "a\nb\n");
  const auto now = [&] { return RecordFile(file.path(), "", RecordEnd::line).fingerprint(); };
  const uint64_t first = now();
  file.write("a\nc\n");
  EXPECT_NE(now(), first);
  file.write("a\nb");
  EXPECT_NE(now(), first);
  file.write("a\nb\n");
  EXPECT_EQ(now(), first);
}

}  // namespace
}  // namespace zero
