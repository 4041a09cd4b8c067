// Ranks: 1
#include "zero/io/files/file_kind.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"

namespace zero {
namespace {

using std::string_view_literals::operator""sv;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing_support::refusal_of;
using testing_support::TempFile;

TEST(FileKind, IsToldByFirstBytesWithWhatToDo) {
  for (const auto& [begin, what, remedy] :
       {std::tuple("\xFF\xFE{\0"sv, "is a text in UTF-16; ", "iconv -f UTF-16 -t UTF-8 a.x > NEW"),
        {"\xFE\xFF\0{"sv, "is a text in UTF-16; ", "iconv -f UTF-16 "},
        {"{\0\"\0s\0o\0u\0"sv, "is a text in UTF-16; ", "iconv -f UTF-16LE "},
        {"\0{\0\"\0s\0o\0u"sv, "is a text in UTF-16; ", "iconv -f UTF-16BE "},
        {"\xFF\xFE\0\0{\0\0\0"sv, "is a text in UTF-32; ", "iconv -f UTF-32 "},
        {"\x1F\x8B\x08\0"sv, "is compressed by gzip; ", "gzip -dc a.x > NEW"},
        {"\x28\xB5\x2F\xFD"sv, "is compressed by zstd; ", "zstd -dc a.x > NEW"},
        {"\xFD\x37zXZ\0"sv, "is compressed by xz; ", "xz -dc a.x > NEW"},
        {"BZh91AY&SY"sv, "is compressed by bzip2; ", "bzip2 -dc a.x > NEW"},
        {"PK\x03\x04"sv, "is a zip archive", "unzip a.x"},
        {"PAR1"sv, "is a Parquet file; ", "read_parquet('a.x')['COLUMN']"},
        {"\x89HDF\r\n\x1A\n"sv, "is an HDF5 file; ", "into a text file"},
        {"\x93NUMPY\x01"sv, "is an array of NumPy's; ", "numpy.load('a.x')"},
        {"\x93NUMPY\x01"sv, "is an array of NumPy's; ", "assert (a == b).all()"},
        {"\x80\x02}q"sv, "is a pickle", "save its texts as one"},
        {"\x80\x04\x95\x10"sv, "is a pickle", "save its texts as one"},
        {"version https://git-lfs.github.com/spec/v1\n"sv, "is what Git LFS", "git lfs pull"}}) {
    const std::string words = file_kind(begin, "a.x");
    EXPECT_THAT(words, StartsWith(what));
    EXPECT_THAT(words, HasSubstr(remedy));
  }
}

/// A text of JSON lines would be learnt as it stands.
TEST(FileKind, AdvisesJsonLinesToReadersOfRecordsAlone) {
  for (const std::string_view begin : {"PAR1"sv, "\x89HDF\r\n\x1A\n"sv, "\x80\x02}q"sv}) {
    EXPECT_THAT(refusal_of(Exit::kInput, [&] { require_records_kind(begin, "a.x"); }),
                HasSubstr("JSON lines"));
    EXPECT_THAT(refusal_of(Exit::kInput, [&] { require_text_kind(begin, "a.x"); }),
                Not(HasSubstr("JSON lines")));
  }
}

TEST(FileKind, IsNothingOfATextOrOfOtherBytes) {
  for (const std::string_view begin :
       {""sv, "{\"a\": 1}"sv, "\xEF\xBB\xBFtext"sv, "PK"sv, "BZh is a word"sv, "version 2"sv,
        "\0\0\0\0\0\0\0\0"sv, "a\0"sv, "\x1F\x8B"sv, "\u00e9t\u00e9"sv}) {
    EXPECT_EQ(file_kind(begin, "a.x"), "") << begin;
  }
}

TEST(FileKind, EndsWhoReadsAWholeTextAndIdsWithoutAHeader) {
  const TempFile file("kind.json", "\xFF\xFE{\0"sv);
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { read_whole(file.path(), 100); }),
              HasSubstr("kind.json: is a text in UTF-16; convert it: iconv"));
  EXPECT_EQ(refusal_of(Exit::kInput, [&] { require_number_kind("\xFF\xFE{\0"sv, "x"); }), "")
      << "which may be the id 65279";
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { require_number_kind("PK\x03\x04"sv, "x"); }),
              HasSubstr("x: is a zip archive"));
}

}  // namespace
}  // namespace zero
