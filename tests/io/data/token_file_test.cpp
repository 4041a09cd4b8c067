// Ranks: 1

#include "zero/io/data/token_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <functional>

#include "tests/support/temp_file.hpp"
#include "zero/base/crc32.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::TempFile;

std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += char(value >> (8 * i));
  return out;
}

struct Header {
  uint32_t version = 1, vocab = 1000;
  uint64_t tokens = 0;
};

/// A token file of `ids`; the header's count is theirs unless it says another.
std::string token_file(const std::vector<int>& ids, Header header = {}) {
  std::string body;
  for (const int id : ids) body += little(uint64_t(id), 2);
  const uint32_t crc = crc32(reinterpret_cast<const uint8_t*>(body.data()), body.size());
  std::string out(kTokenMagic.begin(), kTokenMagic.end());
  out += little(header.version, 4) + little(header.vocab, 4);
  out += little(header.tokens ? header.tokens : ids.size(), 8) + little(crc, 4) + little(0, 4);
  return out + body;
}

std::vector<int32_t> tokens_of(const TokenFile& file, int64_t first, size_t count) {
  std::vector<int32_t> out(count);
  file.read(first, out);
  return out;
}

/// What refuses, which must be an input error.
std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput) << error.what();
    return error.what();
  }
  return "no error";
}

std::string open_error(const std::string& path) {
  return error_of([&] { TokenFile file(path); });
}

TEST(TokenFile, TakesAByteOfATextForAToken) {
  const TempFile text("a.txt", "abc\u00e9");
  const TokenFile file(text.path());
  EXPECT_EQ(file.tokens(), 5);
  EXPECT_EQ(file.vocab_size(), 256);
  EXPECT_THAT(tokens_of(file, 0, 5), ElementsAre(97, 98, 99, 0xC3, 0xA9));
  EXPECT_THAT(tokens_of(file, 2, 1), ElementsAre(99));
  EXPECT_THAT(tokens_of(file, 5, 0), ElementsAre());
}

TEST(TokenFile, ReadsIdsOf16BitsBehindAHeader) {
  const TempFile bin("a.bin", token_file({1, 300, 999, 0}));
  const TokenFile file(bin.path());
  EXPECT_EQ(file.tokens(), 4);
  EXPECT_EQ(file.vocab_size(), 1000);
  EXPECT_THAT(tokens_of(file, 0, 4), ElementsAre(1, 300, 999, 0));
  EXPECT_THAT(tokens_of(file, 1, 2), ElementsAre(300, 999));
}

TEST(TokenFile, ReadsWhatTheScriptWrites) {
  const TempFile text("a.txt", "abc\u00e9"), bin("a.bin", "");
  const auto root = std::filesystem::path(__FILE__).parent_path() / "../../..";
  const std::string script = (root / "tools/data/tokens.py").string();
  if (std::system("python3 --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no python3";
  const std::string command =
      "python3 " + script + " " + text.path() + " " + bin.path() + " > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const TokenFile file(bin.path());
  EXPECT_EQ(file.vocab_size(), 256);
  EXPECT_THAT(tokens_of(file, 0, 5), ElementsAre(97, 98, 99, 0xC3, 0xA9));
  EXPECT_NE(file.fingerprint(), 0u);
}

TEST(TokenFile, RefusesToReadPastItsEnd) {
  const TempFile text("a.txt", "abc");
  const TokenFile file(text.path());
  EXPECT_THROW(tokens_of(file, 2, 2), Error);
  EXPECT_THROW(tokens_of(file, -1, 1), Error);
}

TEST(TokenFile, NamesTheCommandThatMakesAMissingFile) {
  EXPECT_THAT(open_error("/nonexistent/web.bin"),
              HasSubstr("/nonexistent/web.bin: No such file or directory; make it: python3 "
                        "tools/data/tokens.py /nonexistent/web.txt /nonexistent/web.bin"));
  EXPECT_THAT(open_error("/nonexistent/web.txt"), HasSubstr("tools/data/web_text.py"));
}

TEST(TokenFile, RefusesAFolderAPipeAndAnEmptyFile) {
  const TempFile empty("a.txt", ""), pipe("pipe", "");
  std::filesystem::remove(pipe.path());
  ASSERT_EQ(mkfifo(pipe.path().c_str(), 0600), 0);
  EXPECT_THAT(open_error("/tmp"), HasSubstr("no regular file"));
  EXPECT_THAT(open_error(pipe.path()), HasSubstr("no regular file"));
  EXPECT_THAT(open_error(empty.path()), HasSubstr("is empty"));
}

TEST(TokenFile, RefusesADamagedHeaderAndNamesTheOffset) {
  const std::string good = token_file({1, 2, 3});
  const auto error = [](const std::string& content) {
    const TempFile bin("bad.bin", content);
    return open_error(bin.path());
  };
  EXPECT_EQ(error(good), "no error");
  EXPECT_THAT(error("no magic here, but a text"), HasSubstr("offset 0: is no token file"));
  EXPECT_THAT(error(token_file({1}, {.version = 2})), HasSubstr("offset 8: version 2"));
  EXPECT_THAT(error(token_file({1}, {.vocab = 0})), HasSubstr("offset 12: a vocabulary of 0"));
  EXPECT_THAT(error(token_file({1}, {.vocab = 65537})), HasSubstr("offset 12"));
  EXPECT_THAT(error(token_file({1, 2}, {.tokens = 3})), HasSubstr("offset 16: the header says 3"));
  EXPECT_THAT(error(token_file({1}, {.tokens = uint64_t(1) << 63})), HasSubstr("offset 16"));
  for (size_t length = 1; length < good.size(); ++length) {
    EXPECT_NE(error(good.substr(0, length)), "no error") << length;
  }
  EXPECT_THAT(error(good + "x"), HasSubstr("offset 16"));
}

TEST(TokenFile, RefusesAnIdBeyondTheVocabularyWhereItStands) {
  const TempFile bin("a.bin", token_file({1, 1000, 5}));
  const TokenFile file(bin.path());
  EXPECT_THAT(tokens_of(file, 0, 1), ElementsAre(1));
  const std::string what = "offset 34: token 1000 is beyond the vocabulary of 1000";
  EXPECT_THAT(error_of([&] { tokens_of(file, 0, 3); }), HasSubstr(what));
  EXPECT_THAT(error_of([&] { file.fingerprint(); }), HasSubstr(what));
}

TEST(TokenFile, NoticesThatTheFileShrank) {
  const TempFile text("a.txt", "abcdef");
  const TokenFile file(text.path());
  text.write("abcd");
  EXPECT_THAT(tokens_of(file, 0, 4), ElementsAre(97, 98, 99, 100));
  EXPECT_THAT(error_of([&] { tokens_of(file, 1, 5); }),
              HasSubstr("offset 4: the file ends here, but had 6 bytes"));
}

TEST(TokenFile, FingerprintChangesWithEveryByteAndWithTheLength) {
  const std::string content = "In the beginning";
  const TempFile text("a.txt", content);
  const uint64_t before = TokenFile(text.path()).fingerprint();
  EXPECT_EQ(TokenFile(text.path()).fingerprint(), before);
  for (size_t i = 0; i < content.size(); ++i) {
    std::string flipped = content;
    flipped[i] ^= 1;
    text.write(flipped);
    EXPECT_NE(TokenFile(text.path()).fingerprint(), before) << i;
  }
  text.write(content + "a");
  EXPECT_NE(TokenFile(text.path()).fingerprint(), before);
}

TEST(TokenFile, FingerprintRefusesTextThatIsNotUtf8WhereItStands) {
  const TempFile text("a.txt", "abc\xFFzzz"), cut("b.txt", "ab\xC3");
  EXPECT_THAT(error_of([&] { TokenFile(text.path()).fingerprint(); }),
              HasSubstr("offset 3: byte 255 is no UTF-8 text"));
  EXPECT_THAT(error_of([&] { TokenFile(cut.path()).fingerprint(); }),
              HasSubstr("offset 3: the last character is cut off"));
}

TEST(TokenFile, FingerprintRefusesIdsThatDoNotMatchTheHeader) {
  std::string content = token_file({1, 2, 3});
  const TempFile bin("a.bin", content);
  EXPECT_NE(TokenFile(bin.path()).fingerprint(), 0u);
  content[kTokenHeaderBytes] ^= 1;
  bin.write(content);
  EXPECT_THAT(error_of([&] { TokenFile(bin.path()).fingerprint(); }), HasSubstr("offset 24"));
}

TEST(TokenFile, FingerprintReadsLongFilesInPieces) {
  const TempFile text("a.txt",
                      std::string((1 << 18) - 1, 'x') + "\u00e9" + std::string(70000, 'y'));
  const TokenFile file(text.path());
  EXPECT_EQ(file.fingerprint() >> 32, uint64_t(file.tokens()));
}

}  // namespace
}  // namespace zero
