// Ranks: 1
#include "io/interop/zip_entries.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/support/torch_bytes.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;
using testing_support::refusal_of;
using testing_support::TempFile;
using testing_support::zip_of;
using testing_support::ZipForm;
using testing_support::ZipPart;
using Parts = std::vector<ZipPart>;

const Parts kParts = {{.name = "a/one", .bytes = "123"},
                      {.name = "a/", .bytes = ""},
                      {.name = "a/two", .bytes = "4567"}};

std::string refusal_of_zip(const std::string& content) {
  const TempFile file("damaged.zip", content);
  const std::string refusal =
      refusal_of(Exit::kInput, [&] { zip_entries(InputFile(file.path())); });
  EXPECT_TRUE(refusal.empty() || refusal.find(file.path()) != refusal.npos) << refusal;
  return refusal;
}

std::string refusal_of_zip(const Parts& parts, const ZipForm& form = {}) {
  return refusal_of_zip(zip_of(parts, form));
}

/// The entries' names and bytes, in the order of zip_entries().
std::string content_of_zip(const std::string& content) {
  const TempFile file("good.zip", content);
  std::string out;
  for (const ZipEntry& entry : zip_entries(InputFile(file.path())))
    out += entry.name + "=" + content.substr(size_t(entry.begin), size_t(entry.end - entry.begin)) +
           " ";
  return out;
}

TEST(ZipEntries, LieWhereTheDirectorySaysWhateverItsForm) {
  for (const bool zip64 : {false, true}) {
    for (const bool descriptors : {false, true}) {
      EXPECT_EQ(content_of_zip(zip_of(kParts, {.zip64 = zip64, .descriptors = descriptors})),
                "a/one=123 a/= a/two=4567 ");
    }
  }
  EXPECT_EQ(content_of_zip(zip_of({})), "");
}

TEST(ZipEntries, MayLieBeyond4GiB) {
  constexpr uint64_t kHole = uint64_t(5) << 30;
  const ZipForm form{.zip64 = true, .descriptors = false};
  const ZipPart large{.name = "large", .bytes = "", .size = kHole}, last{.name = "b", .bytes = "1"};
  const std::string header = testing_support::local_part(large, form);
  const std::string end = testing_support::local_part(last, form);
  const uint64_t place = header.size() + kHole, begin = place + end.size();
  const std::string directory = testing_support::directory_part(large, form, 0) +
                                testing_support::directory_part(last, form, place);
  const TempFile file("large.zip", header);
  std::fstream out(file.path(), std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(std::streamoff(place));
  out << end << directory << testing_support::end_part(begin, directory.size(), 2, form);
  out.close();
  const std::vector<ZipEntry> entries = zip_entries(InputFile(file.path()));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].end - entries[0].begin, int64_t(kHole));
  EXPECT_EQ(entries[1].begin, int64_t(begin) - 1);
  EXPECT_EQ(entries[1].end, int64_t(begin));
}

TEST(ZipEntries, RefuseEveryTruncation) {
  for (const ZipForm& form : {ZipForm{}, ZipForm{.zip64 = true, .descriptors = false}}) {
    const std::string good = zip_of(kParts, form);
    for (size_t length = 0; length < good.size(); ++length)
      EXPECT_THAT(refusal_of_zip(good.substr(0, length)), HasSubstr("fetch it again")) << length;
    EXPECT_THAT(refusal_of_zip(good + "x"), HasSubstr("no zip directory ends the file"));
    EXPECT_THAT(refusal_of_zip("x" + good), HasSubstr("fetch it again"));
  }
  EXPECT_THAT(refusal_of_zip(kParts, {.comment = "text"}), HasSubstr("no zip directory ends"));
}

TEST(ZipEntries, RefuseWhatIsNotStoredAsItIs) {
  EXPECT_THAT(refusal_of_zip({{.name = "a", .bytes = "1", .method = 8}}),
              HasSubstr("\"a\": is compressed; write the file again with torch.save"));
  EXPECT_THAT(refusal_of_zip({{.name = "a", .bytes = "1", .flags = 1}}),
              HasSubstr("\"a\": is encrypted"));
}

TEST(ZipEntries, RefuseBytesBeyondTheFileAndBytesOfTwo) {
  for (const bool zip64 : {false, true}) {
    const ZipForm form{.zip64 = zip64};
    EXPECT_THAT(refusal_of_zip({{.name = "a", .bytes = "1", .size = 1000}}, form),
                HasSubstr("\"a\": has 1000 bytes from offset"));
    EXPECT_THAT(refusal_of_zip({{.name = "a", .bytes = "1", .header = 999}}, form),
                HasSubstr("offset 999: no entry of a zip archive"));
    EXPECT_THAT(refusal_of_zip({{.name = "a", .bytes = std::string(9, '1'), .size = 60},
                                {.name = "b", .bytes = std::string(99, '2')}},
                               form),
                HasSubstr("\"b\": shares bytes with \"a\""));
    EXPECT_THAT(refusal_of_zip({{.name = "a", .bytes = "1"}, {.name = "a", .bytes = "2"}}, form),
                HasSubstr("\"a\": stands twice"));
    EXPECT_THAT(refusal_of_zip(
                    {{.name = "a", .bytes = "1"}, {.name = "a", .bytes = "1", .header = 0}}, form),
                HasSubstr("\"a\": shares bytes with \"a\""));
    EXPECT_THAT(refusal_of_zip({{.name = "a", .bytes = "1", .local_name = "b"}}, form),
                HasSubstr("\"a\": has another name at offset 0"));
    EXPECT_THAT(refusal_of_zip(kParts, {.zip64 = zip64, .more_entries = 1}),
                HasSubstr("a zip directory of 3 entries says 4"));
  }
  for (const uint64_t far : {uint64_t(1) << 62, UINT64_MAX, UINT64_MAX - 40}) {
    EXPECT_THAT(refusal_of_zip({{.name = "a", .bytes = "1", .size = far}}, {.zip64 = true}),
                HasSubstr("bytes from offset"));
    EXPECT_THAT(refusal_of_zip({{.name = "a", .bytes = "1", .header = far}}, {.zip64 = true}),
                HasSubstr("no entry of a zip archive"));
  }
}

TEST(ZipEntries, HaveLimits) {
  EXPECT_THAT(refusal_of_zip({{.name = std::string(kZipNameBytesMax + 1, 'a'), .bytes = "1"}}),
              HasSubstr("a name above 1024 bytes"));
  EXPECT_EQ(refusal_of_zip({{.name = std::string(kZipNameBytesMax, 'a'), .bytes = "1"}}), "");
  Parts many;
  for (size_t i = 0; i < size_t(kZipDirectoryBytesMax) / 1000; ++i)
    many.push_back({.name = std::to_string(i) + std::string(1000, 'a'), .bytes = ""});
  EXPECT_THAT(refusal_of_zip(many), HasSubstr("at most 4194304 are read"));
}

}  // namespace
}  // namespace zero
