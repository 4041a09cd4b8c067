// Ranks: 1

#include "io/data/id_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "tests/support/temp_file.hpp"
#include "tests/support/token_bytes.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::TempFile;
using testing_support::token_file;

IdFile text_file(const TempFile& text) {
  auto file = std::make_unique<DataFile>(text.path(), "advice");
  const IdLayout layout = text_layout(*file);
  return {std::move(file), layout};
}

IdFile tokens_file(const TempFile& bin) {
  auto file = std::make_unique<DataFile>(bin.path(), "advice");
  const IdLayout layout = token_file_layout(*file);
  return {std::move(file), layout};
}

std::vector<int32_t> tokens_of(const TokenSource& source, int64_t first, size_t count) {
  std::vector<int32_t> out(count);
  source.read(first, out);
  return out;
}

std::string error_of_ids(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(IdFile, ReadsAnyRangeAlsoOfSeveralPieces) {
  std::vector<int64_t> ids(20000);
  std::iota(ids.begin(), ids.end(), 0);
  const TempFile bin("a.bin", token_file(ids, {.vocab = 20000}));
  const IdFile file = tokens_file(bin);
  EXPECT_THAT(tokens_of(file, 19998, 2), ElementsAre(19998, 19999));
  EXPECT_THAT(tokens_of(file, 20000, 0), ElementsAre());
  const std::vector<int32_t> most = tokens_of(file, 1, 19999);
  for (size_t i = 0; i < most.size(); ++i) ASSERT_EQ(most[i], int32_t(i + 1));
}

TEST(IdFile, RefusesToReadPastItsEnd) {
  const TempFile text("a.txt", "abc");
  const IdFile file = text_file(text);
  EXPECT_THROW(tokens_of(file, 2, 2), Error);
  EXPECT_THROW(tokens_of(file, -1, 1), Error);
}

TEST(IdFile, FindsABadIdOnlyWhereItIsRead) {
  const TempFile bin("a.bin", token_file({1, 1000, 5}));
  const IdFile file = tokens_file(bin);
  EXPECT_THAT(tokens_of(file, 0, 1), ElementsAre(1));
  EXPECT_THAT(error_of_ids([&] { tokens_of(file, 0, 3); }), HasSubstr("offset 34: token 1000"));
}

TEST(IdFile, NoticesThatTheFileShrank) {
  const TempFile text("a.txt", "abcdef");
  const IdFile file = text_file(text);
  text.write("abcd");
  EXPECT_THAT(tokens_of(file, 0, 4), ElementsAre(97, 98, 99, 100));
  EXPECT_THAT(error_of_ids([&] { tokens_of(file, 1, 5); }),
              HasSubstr("offset 4: the file ends here, but had 6 bytes"));
}

TEST(IdFile, FingerprintChangesWithEveryByteAndWithTheLength) {
  const std::string content = "In the beginning";
  const TempFile text("a.txt", content);
  const uint64_t before = text_file(text).fingerprint();
  EXPECT_EQ(text_file(text).fingerprint(), before);
  for (size_t i = 0; i < content.size(); ++i) {
    std::string flipped = content;
    flipped[i] ^= 1;
    text.write(flipped);
    EXPECT_NE(text_file(text).fingerprint(), before) << i;
  }
  text.write(content + "a");
  EXPECT_NE(text_file(text).fingerprint(), before);
}

TEST(IdFile, FingerprintRefusesTextThatIsNotUtf8WhereItStands) {
  const TempFile text("a.txt", "abc\xFFzzz"), cut("b.txt", "ab\xC3");
  EXPECT_THAT(error_of_ids([&] { text_file(text).fingerprint(); }),
              HasSubstr("offset 3: byte 255 is no UTF-8 text"));
  EXPECT_THAT(error_of_ids([&] { text_file(cut).fingerprint(); }),
              HasSubstr("offset 2: the last character is cut off"));
}

TEST(IdFile, FingerprintRefusesIdsThatDoNotMatchTheHeader) {
  std::string content = token_file({1, 2, 3});
  const TempFile bin("a.bin", content);
  EXPECT_NE(tokens_file(bin).fingerprint(), 0u);
  content[size_t(kTokenHeaderBytes)] ^= 1;
  bin.write(content);
  EXPECT_THAT(error_of_ids([&] { tokens_file(bin).fingerprint(); }), HasSubstr("CRC-32"));
}

TEST(IdFile, FingerprintReadsLongFilesInPieces) {
  const TempFile text("a.txt",
                      std::string((1 << 18) - 1, 'x') + "\u00e9" + std::string(70000, 'y'));
  const IdFile file = text_file(text);
  EXPECT_EQ(file.fingerprint() >> 32, uint64_t(file.tokens()));
}

}  // namespace
}  // namespace zero
