// Ranks: 1
#include "io/data/token_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/support/temp_file.hpp"
#include "tests/support/token_bytes.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::id_bytes;
using testing_support::legacy_index;
using testing_support::llmc_file;
using testing_support::mapped_index;
using testing_support::TempFile;
using testing_support::token_file;

/// Every two bytes are a token: the number of the letter of the first.
class Pairs : public Tokenizer {
 public:
  explicit Pairs(uint64_t fingerprint = 1) : fingerprint_(fingerprint) {}
  int64_t vocab_size() const override { return 26; }
  std::vector<int32_t> encode(std::string_view text, SpecialNames) const override {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < text.size(); i += 2) ids.push_back(text[i] - 'a');
    return ids;
  }
  std::string decode(std::span<const int32_t>, SpecialTokens) const override { return {}; }
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  uint64_t fingerprint_;
};

EncodedText encoded(const TempFile& text, uint64_t tokenizer = 1) {
  return {DataFile(text.path(), "advice"), Pairs(tokenizer), "how to go on"};
}

std::string error_of_text(const TempFile& text) {
  try {
    encoded(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput);
    return error.what();
  }
  return "no error";
}

TEST(EncodedText, HoldsTheTokensOfTheTokenizer) {
  const TempFile text("a.txt", "a b c d ");
  const EncodedText source = encoded(text);
  EXPECT_EQ(source.tokens(), 4);
  EXPECT_EQ(source.vocab_size(), 26);
  std::vector<int32_t> ids(2);
  source.read(1, ids);
  EXPECT_THAT(ids, ElementsAre(1, 2));
  EXPECT_THROW(source.read(3, ids), Error);
}

TEST(EncodedText, FingerprintChangesWithTheTextAndTheTokenizer) {
  const TempFile text("a.txt", "a b "), other("b.txt", "a c ");
  const uint64_t before = encoded(text).fingerprint();
  EXPECT_EQ(encoded(text).fingerprint(), before);
  EXPECT_NE(encoded(other).fingerprint(), before);
  EXPECT_NE(encoded(text, 2).fingerprint(), before);
}

TEST(EncodedText, RefusesWhatIsNoTextWhereItStands) {
  const TempFile text("a.txt", "abc\xFFzzz");
  EXPECT_THAT(error_of_text(text), HasSubstr("offset 3: byte 255 is no UTF-8 text"));
  text.write("caf\xE9 zzz");
  EXPECT_THAT(error_of_text(text), HasSubstr("offset 3: byte 233 is no UTF-8 text"));
}

TEST(EncodedText, RefusesALongTextAndSaysHowToGoOn) {
  const TempFile text("a.txt", "ab");
  std::filesystem::resize_file(text.path(), uintmax_t(EncodedText::kMostBytes) + 1);
  EXPECT_THAT(error_of_text(text), HasSubstr("at most 67108864 are encoded"));
  EXPECT_THAT(error_of_text(text), HasSubstr("how to go on"));
}

constexpr int64_t kVocabulary = 1000;

std::unique_ptr<TokenSource> opened(const std::string& path, int64_t vocabulary = kVocabulary) {
  return open_tokens({.path = path, .vocab_size = vocabulary});
}

std::vector<int32_t> tokens_of(const TokenSource& source) {
  std::vector<int32_t> out(size_t(source.tokens()));
  source.read(0, out);
  return out;
}

/// What opening the file and reading all of it throws.
std::string error_of(const std::string& path, int64_t vocabulary = kVocabulary) {
  try {
    opened(path, vocabulary)->fingerprint();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput) << error.what();
    return error.what();
  }
  return "no error";
}

std::string error_of_bin(const std::string& content, int64_t vocabulary = kVocabulary) {
  const TempFile bin("damaged.bin", content);
  return error_of(bin.path(), vocabulary);
}

TEST(OpenTokens, TakesAByteOfATextForAToken) {
  const TempFile text("a.txt", "abc\u00e9");
  const auto source = opened(text.path());
  EXPECT_EQ(source->vocab_size(), 256);
  EXPECT_EQ(source->format(), "UTF-8 text, a token a byte");
  EXPECT_THAT(tokens_of(*source), ElementsAre(97, 98, 99, 0xC3, 0xA9));
}

TEST(OpenTokens, ReadsTokenFilesOf16And32Bits) {
  const TempFile narrow("a.bin", token_file({1, 300, 999, 0}));
  EXPECT_EQ(opened(narrow.path())->vocab_size(), 1000);
  EXPECT_THAT(tokens_of(*opened(narrow.path())), ElementsAre(1, 300, 999, 0));
  const TempFile wide("b.bin", token_file({1, 65536, 99999}, {.vocab = 100000}));
  EXPECT_EQ(opened(wide.path(), 100000)->format(), "token file of uint32 ids");
  EXPECT_THAT(tokens_of(*opened(wide.path(), 100000)), ElementsAre(1, 65536, 99999));
  EXPECT_EQ(error_of(wide.path(), 100000), "no error");
}

TEST(OpenTokens, ReadsBothKindsOfLlmc) {
  const TempFile narrow("a.bin", llmc_file({5, 999, 0}, false));
  EXPECT_EQ(opened(narrow.path())->format(), "llm.c file of uint16 ids");
  EXPECT_THAT(tokens_of(*opened(narrow.path())), ElementsAre(5, 999, 0));
  const TempFile wide("b.bin", llmc_file({5, 128000, 0}, true));
  EXPECT_THAT(tokens_of(*opened(wide.path(), 128256)), ElementsAre(5, 128000, 0));
  EXPECT_EQ(error_of(wide.path(), 128256), "no error");
}

TEST(OpenTokens, ReadsMegatronPairsOfEveryTypeOfIds) {
  struct {
    int code, bytes;
  } const types[] = {{1, 1}, {2, 1}, {3, 2}, {4, 4}, {5, 8}, {8, 2}};
  for (const auto [code, bytes] : types) {
    const TempFile bin("a.bin", id_bytes({7, 8, 9, 10, 127}, bytes));
    for (const bool legacy : {false, true}) {
      const TempFile index("a.idx", legacy ? legacy_index({2, 0, 3}, code, bytes)
                                           : mapped_index({2, 0, 3}, code, bytes));
      EXPECT_THAT(tokens_of(*opened(bin.path())), ElementsAre(7, 8, 9, 10, 127)) << code;
      EXPECT_EQ(error_of(bin.path()), "no error") << code;
      EXPECT_THAT(opened(bin.path())->format(), HasSubstr("3 sequences"));
    }
  }
}

TEST(OpenTokens, ReadsAnIndexLongerThanOnePiece) {
  const std::vector<int64_t> sizes(20000, 1), ids(20000, 3);
  const TempFile bin("a.bin", id_bytes(ids, 2)), index("a.idx", mapped_index(sizes, 8, 2));
  EXPECT_EQ(opened(bin.path())->tokens(), 20000);
  const TempFile legacy("a.idx", legacy_index(sizes, 8, 2));
  EXPECT_EQ(opened(bin.path())->tokens(), 20000);
}

TEST(OpenTokens, ReadsABinWithoutHeaderAsNanogptDoes) {
  // Ids of a vocabulary of letters: every byte is ASCII, but the upper ones are 0.
  const TempFile letters("a.bin", id_bytes({64, 63, 10}, 2));
  EXPECT_THAT(tokens_of(*opened(letters.path())), ElementsAre(64, 63, 10));
  const TempFile words("b.bin", id_bytes({50256, 15496, 995}, 2));
  EXPECT_THAT(tokens_of(*opened(words.path(), 50257)), ElementsAre(50256, 15496, 995));
}

TEST(OpenTokens, SaysWhichFileOfAPairToWrite) {
  const TempFile bin("a.bin", id_bytes({1, 2}, 2)), index("a.idx", mapped_index({2}, 8, 2));
  const std::string stem = bin.path().substr(0, bin.path().size() - 4);
  EXPECT_THAT(error_of(stem), HasSubstr("No such file or directory; write " + bin.path()));
  EXPECT_THAT(error_of(index.path()), HasSubstr("is an index; write " + bin.path()));
}

TEST(OpenTokens, RefuseFilesOfOtherKindsByTheirFirstBytes) {
  const TempFile text("kind.txt", std::string_view("\xFF\xFEt\0", 4));
  EXPECT_THAT(error_of(text.path()), HasSubstr("kind.txt: is a text in UTF-16; convert it"));
  EXPECT_THAT(error_of_text(text), HasSubstr("kind.txt: is a text in UTF-16; convert it"));
  EXPECT_THAT(error_of_bin("PK\x03\x04" + id_bytes({1, 2}, 2)), HasSubstr("is a zip archive"));
}

TEST(OpenTokens, RefusesATextNamedBin) {
  EXPECT_THAT(error_of_bin("no magic here, but a text.\n"),
              HasSubstr("offset 0: is no token file but reads as a text"));
}

TEST(OpenTokens, RefusesHalfAnId) {
  EXPECT_THAT(error_of_bin(id_bytes({1, 2}, 2) + "x"), HasSubstr("offset 4: half an id"));
}

TEST(OpenTokens, KnowsATokenFileWhateverLiesBesideIt) {
  const TempFile bin("a.bin", token_file({1, 2, 3})), index("a.idx", "left over");
  EXPECT_EQ(error_of(bin.path()), "no error");
}

TEST(OpenTokens, ReadsWhatTheScriptWrites) {
  const TempFile text("a.txt", "abc\u00e9"), bin("a.bin", "");
  const std::string script = (testing_support::tree_folder() / "tools/data/tokens.py").string();
  if (std::system("python3 --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no python3";
  const std::string command =
      "python3 " + script + " " + text.path() + " " + bin.path() + " > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(opened(bin.path())->vocab_size(), 256);
  EXPECT_THAT(tokens_of(*opened(bin.path())), ElementsAre(97, 98, 99, 0xC3, 0xA9));
  EXPECT_EQ(error_of(bin.path()), "no error");
}

TEST(OpenTokens, NamesTheCommandThatMakesAMissingFile) {
  EXPECT_THAT(error_of("/nonexistent/web.bin"),
              HasSubstr("/nonexistent/web.bin: No such file or directory; make it: "
                        "tools/data/make_tokens.sh /nonexistent/web.txt /nonexistent/web.bin"));
  EXPECT_THAT(error_of("/nonexistent/web.txt"), HasSubstr("tools/data/web_text.py"));
  try {
    open_tokens({.path = "/no/web.bin", .tokenizer = "data/web_bpe", .vocab_size = 50304});
    ADD_FAILURE() << "opened";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("tools/data/make_tokens.sh /no/web.txt /no/web.bin "
                                        "data/web_bpe 50257"));
  }
}

TEST(OpenTokens, RefusesAFolderAPipeAndAnEmptyFile) {
  const TempFile empty("a.txt", ""), pipe("pipe", "");
  std::filesystem::remove(pipe.path());
  ASSERT_EQ(mkfifo(pipe.path().c_str(), 0600), 0);
  EXPECT_THAT(error_of("/tmp"), HasSubstr("no regular file"));
  EXPECT_THAT(error_of(pipe.path()), HasSubstr("no regular file"));
  EXPECT_THAT(error_of(empty.path()), HasSubstr("is empty"));
}

TEST(OpenTokens, RefusesADamagedTokenHeaderAndNamesTheOffset) {
  const std::string good = token_file({1, 2, 3});
  EXPECT_EQ(error_of_bin(good), "no error");
  EXPECT_THAT(error_of_bin(token_file({1}, {.version = 2})), HasSubstr("offset 8: version 2"));
  EXPECT_THAT(error_of_bin(token_file({1}, {.vocab = 0})), HasSubstr("offset 12: a vocabulary"));
  EXPECT_THAT(error_of_bin(token_file({1, 2}, {.tokens = 3})),
              HasSubstr("offset 16: the header says 3"));
  EXPECT_THAT(error_of_bin(token_file({1}, {.tokens = uint64_t(1) << 63})), HasSubstr("offset 16"));
  for (size_t length = 1; length < good.size(); ++length) {
    EXPECT_NE(error_of_bin(good.substr(0, length)), "no error") << length;
  }
  EXPECT_THAT(error_of_bin(good + "x"), HasSubstr("offset 16"));
}

TEST(OpenTokens, RefusesADamagedLlmcHeaderAndNamesTheOffset) {
  const std::string good = llmc_file({1, 2, 3}, false);
  EXPECT_EQ(error_of_bin(good), "no error");
  const auto with = [&](size_t at, const std::string& bytes) {
    return error_of_bin(std::string(good).replace(at, bytes.size(), bytes));
  };
  EXPECT_THAT(with(4, "\x02"), HasSubstr("offset 4: version 2"));
  EXPECT_THAT(with(8, "\x04"), HasSubstr("offset 8: the header says 4 tokens"));
  EXPECT_THAT(with(8, "\xff\xff\xff\xff"), HasSubstr("offset 8: the header says -1"));
  EXPECT_THAT(error_of_bin(good.substr(0, 1000)), HasSubstr("offset 1000: llm.c's header"));
  const std::string swapped(good.rbegin() + ptrdiff_t(good.size()) - 4, good.rend());
  EXPECT_THAT(with(0, swapped), HasSubstr("big-endian"));
}

/// The error of a pair of five uint16 ids, whose index has `bytes` at `at`.
std::string error_of_index(size_t at, const std::string& bytes) {
  const TempFile bin("a.bin", id_bytes({7, 8, 9, 10, 127}, 2));
  const TempFile index("a.idx", mapped_index({2, 0, 3}, 8, 2).replace(at, bytes.size(), bytes));
  return error_of(bin.path());
}

TEST(OpenTokens, RefusesADamagedIndexAndNamesTheOffset) {
  EXPECT_EQ(error_of_index(0, "M"), "no error");
  EXPECT_THAT(error_of_index(0, "X"), HasSubstr("a.idx: offset 0: is no index"));
  EXPECT_THAT(error_of_index(9, "\x02"), HasSubstr("offset 9: version 2"));
  EXPECT_THAT(error_of_index(17, "\x07"), HasSubstr("offset 17: type 7 is a floating-point one"));
  EXPECT_THAT(error_of_index(17, "\x09"), HasSubstr("offset 17: type 9"));
  EXPECT_THAT(error_of_index(18, std::string(7, '\0') + "\x10"), HasSubstr("offset 18: "));
  EXPECT_THAT(error_of_index(18, "\x02"), HasSubstr("2 sequences and 4 borders"));
  // Sizes stand at 34, places at 46, borders at 70.
  EXPECT_THAT(error_of_index(34, "\xff\xff\xff\xff"),
              HasSubstr("offset 34: sequence 0 has a size"));
  EXPECT_THAT(error_of_index(42, "\x04"), HasSubstr("offset 42: sequence 2 of 4 ids ends beyond"));
  EXPECT_THAT(error_of_index(42, "\x02"), HasSubstr("a.bin: offset 8: the sequences of"));
  EXPECT_THAT(error_of_index(54, "\x02"), HasSubstr("offset 54: sequence 1 begins at 2, not at 4"));
  EXPECT_THAT(error_of_index(70, "\x01"), HasSubstr("offset 70: document 0 begins at sequence 1"));
  EXPECT_THAT(error_of_index(94, "\x09"), HasSubstr("offset 94: document 3 begins at sequence 9"));
}

TEST(OpenTokens, RefusesEveryShorterIndexAndALongerOne) {
  const TempFile bin("a.bin", id_bytes({7, 8, 9, 10, 127}, 2)), index("a.idx", "");
  for (const std::string& good : {mapped_index({2, 0, 3}, 8, 2), legacy_index({2, 0, 3}, 8, 2)}) {
    for (size_t length = 0; length < good.size(); ++length) {
      index.write(good.substr(0, length));
      EXPECT_THAT(error_of(bin.path()), HasSubstr("a.idx: ")) << length;
    }
    index.write(good + "x");
    EXPECT_THAT(error_of(bin.path()), HasSubstr("but the index has"));
    index.write(good);
    EXPECT_EQ(error_of(bin.path()), "no error");
  }
}

TEST(OpenTokens, RefusesAnIdThatTheVocabularyHasNot) {
  EXPECT_THAT(error_of_bin(token_file({1, 1000, 5})),
              HasSubstr("offset 34: token 1000 is beyond the vocabulary, which is of 1000"));
  EXPECT_THAT(error_of_bin(llmc_file({1, 2, 1000}, false)), HasSubstr("offset 1028: token 1000"));
  EXPECT_THAT(error_of_bin(id_bytes({1000}, 2)), HasSubstr("offset 0: token 1000"));
  const TempFile bin("a.bin", id_bytes({1, -1}, 4)), index("a.idx", mapped_index({2}, 4, 4));
  EXPECT_THAT(error_of(bin.path()), HasSubstr("offset 4: token -1 is below 0"));
}

TEST(OpenTokens, RefusesAVocabularyThatTheModelDoesNotHave) {
  const TempFile bin("a.bin", token_file({1, 2}));
  EXPECT_THAT(error_of(bin.path(), 999), HasSubstr("write model.vocab_size = 1000 or more"));
}

}  // namespace
}  // namespace zero
