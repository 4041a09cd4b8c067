// Ranks: 1

#include "io/data/zstd_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/data/data_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/support/tokenizer_folder.hpp"
#include "zero/io/data/prepare.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;
using testing_support::refusal_of;
using testing_support::TempFile;

/// A frame of zstd with one stored block: RFC 8878. Its size stands in no header.
std::string frame(std::string_view content, bool is_last = true) {
  std::string bytes("\x28\xB5\x2F\xFD\x00\x58", 6);
  const uint32_t header = uint32_t(content.size()) << 3 | uint32_t(is_last);
  for (int i = 0; i < 3; ++i) bytes += char(header >> (8 * i));
  return bytes + std::string(content);
}

TEST(ZstdFile, UnpacksFramesOneBehindTheOther) {
  const TempFile file("a.jsonl.zst", frame("one\n") + frame("two\nthree\n"));
  const std::string refused = refusal_of(
      Exit::kInput, [&] { EXPECT_EQ(unpacked_zstd(InputFile(file.path())), "one\ntwo\nthree\n"); });
  if (!refused.empty()) {
    EXPECT_THAT(refused, HasSubstr("this build has no libzstd; unpack the file: zstd -dc"));
    return;
  }
  const RecordFile records(file.path(), "advice", RecordEnd::line);
  std::string room;
  EXPECT_EQ(records.records(), 3);
  EXPECT_EQ(records.read(2, room), "three");
  EXPECT_EQ(records.bytes(), 14);
  const TempFile other("b.jsonl.zst", frame("one\n") + frame("two\nthrees\n"));
  EXPECT_NE(RecordFile(other.path(), "advice", RecordEnd::line).fingerprint(),
            records.fingerprint());
}

TEST(ZstdFile, RefusesDamage) {
  const auto refusal = [](const std::string& content) {
    const TempFile file("a.jsonl.zst", content);
    const std::string words =
        refusal_of(Exit::kInput, [&] { RecordFile(file.path(), "advice", RecordEnd::line); });
    return words.find("has no libzstd") == words.npos ? words : "";
  };
  const std::string absent = refusal(frame("a\n"));
  const TempFile good("g.jsonl.zst", frame("a\n"));
  if (!refusal_of(Exit::kInput, [&] { unpacked_zstd(InputFile(good.path())); }).empty())
    GTEST_SKIP() << "no libzstd";
  EXPECT_EQ(absent, "");
  EXPECT_THAT(refusal("{\"text\": \"plain\"}\n"), HasSubstr("is no text that zstd compressed"));
  EXPECT_THAT(refusal(frame("text\n").substr(0, 12)), HasSubstr("the last frame is cut off"));
  EXPECT_THAT(refusal(frame("text\n", false)), HasSubstr("the last frame is cut off"));
  EXPECT_THAT(refusal(frame("")), HasSubstr("holds nothing; advice"));
  EXPECT_THAT(refusal(frame("\xFF\xFE"
                            "a")),
              HasSubstr("is a text in UTF-16"));
}

TEST(ZstdFile, UnpacksEqualFilesOfASetApart) {
  namespace fs = std::filesystem;
  const std::string content = frame("{\"text\": \"a\"}\n");
  const TempFile a("a.jsonl.zst", content), b("b.jsonl.zst", content);
  if (!refusal_of(Exit::kInput, [&] { unpacked_zstd(InputFile(a.path())); }).empty())
    GTEST_SKIP() << "no libzstd";
  fs::last_write_time(b.path(), fs::last_write_time(a.path()));
  const testing_support::TokenizerFolder place("equal");
  SetOrder order{.options = {.vocab_size = 256},
                 .folder = place.path() + "/a.documents",
                 .files = {{a.path()}, {b.path()}}};
  SetMaker maker(order);
  maker.begin();
  maker.unpack({});
  int unpacked = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(order.folder))
    unpacked += entry.path().filename().string().starts_with("unpacked-");
  EXPECT_EQ(unpacked, 2);
  maker.make({});
  EXPECT_EQ(maker.finish().documents, 2);
}

}  // namespace
}  // namespace zero
