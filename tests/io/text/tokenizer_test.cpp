// Ranks: 1

#include "zero/io/text/tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "io/text/bpe_tokenizer.hpp"
#include "tests/support/bpe_folder.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tokenizer_folder.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::BpeFolder;

/// Ids 256 to 260: " t", "he", " the", "in", "ing"; 261: the special token.
BpeFolder english() {
  return BpeFolder({{"\u0120", "t"}, {"h", "e"}, {"\u0120t", "he"}, {"i", "n"}, {"in", "g"}},
                   {"<|endoftext|>"});
}

std::string golden_folder() {
  return (testing_support::tree_folder() / "tests/golden/bpe").string();
}

std::string decode_error(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  try {
    tokenizer.decode(ids);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput);
    return error.what();
  }
  return "no error";
}

TEST(Tokenizer, OfBytesTakesAByteForAToken) {
  const auto bytes = open_tokenizer("bytes");
  EXPECT_EQ(bytes->vocab_size(), 256);
  EXPECT_THAT(bytes->encode("ab\u00e9"), ElementsAre(97, 98, 0xC3, 0xA9));
  EXPECT_EQ(bytes->decode(bytes->encode("ab\u00e9\xFF")), "ab\u00e9\xFF");
  EXPECT_THAT(decode_error(*bytes, {97, 256}), HasSubstr("token 256 at place 1"));
}

TEST(Tokenizer, OfAFolderMergesByRankInsideWords) {
  const BpeFolder folder = english();
  const auto bpe = open_tokenizer(folder.path());
  EXPECT_EQ(bpe->vocab_size(), 262);
  EXPECT_THAT(bpe->encode("the"), ElementsAre('t', 257));
  EXPECT_THAT(bpe->encode("ring the thing"), ElementsAre('r', 260, 258, 256, 'h', 260));
  EXPECT_THAT(bpe->encode("the the the"), ElementsAre('t', 257, 258, 258));
  EXPECT_THAT(bpe->encode("h'e"), ElementsAre('h', '\'', 'e'));
  EXPECT_THAT(bpe->encode(""), ElementsAre());
}

TEST(Tokenizer, TakesTheNameOfASpecialTokenForText) {
  const BpeFolder folder = english();
  const auto bpe = open_tokenizer(folder.path());
  EXPECT_EQ(bpe->encode("<|endoftext|>").size(), 13u);
  EXPECT_EQ(bpe->decode(std::vector<int32_t>{261}), "<|endoftext|>");
}

TEST(Tokenizer, DecodesACharacterThatIsSpreadOverIds) {
  const BpeFolder folder = english();
  const auto bpe = open_tokenizer(folder.path());
  EXPECT_THAT(bpe->encode("\u65e5"), ElementsAre(0xE6, 0x97, 0xA5));
  EXPECT_EQ(bpe->decode(std::vector<int32_t>{0xE6, 0x97}), "\xE6\x97");
  EXPECT_EQ(bpe->decode(std::vector<int32_t>{258, 0xE6, 0x97, 0xA5}), " the\u65e5");
}

TEST(Tokenizer, RefusesToDecodeIdsThatItDoesNotHave) {
  const BpeFolder folder = english();
  const auto bpe = open_tokenizer(folder.path());
  EXPECT_THAT(decode_error(*bpe, {262}), HasSubstr("token 262 at place 0: the tokenizer has 262"));
  EXPECT_THAT(decode_error(*bpe, {97, -1}), HasSubstr("token -1 at place 1"));
}

TEST(Tokenizer, GivesBackAnyBytes) {
  const auto bpe = open_tokenizer(golden_folder());
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = char(random() % (i % 2 ? 256 : 4) * (i % 2 ? 1 : 61));
    ASSERT_EQ(bpe->decode(bpe->encode(bytes)), bytes);
  }
}

TEST(Tokenizer, IsEqualToThePackageOnItsGoldenTexts) {
  const auto bpe = open_tokenizer(golden_folder());
  std::ifstream file(golden_folder() + "/texts.json");
  const nlohmann::json rows = nlohmann::json::parse(file);
  ASSERT_GT(rows.size(), 300u);
  for (const auto& row : rows) {
    const std::string text = row[0];
    const std::vector<int32_t> ids = row[2];
    std::vector<size_t> words;
    for (size_t at = 0; at < text.size(); at += words.back())
      words.push_back(word_end(text, at) - at);
    ASSERT_EQ(words, row[1].get<std::vector<size_t>>()) << row[0];
    ASSERT_EQ(bpe->encode(text), ids) << row[0];
    ASSERT_EQ(bpe->decode(ids), text);
  }
}

TEST(Tokenizer, RemembersMoreWordsThanItHasRoomFor) {
  const BpeFolder folder = english();
  const auto bpe = open_tokenizer(folder.path());
  std::string text;
  std::vector<int32_t> expected;
  for (int i = 0; i < 80000; ++i) {
    const std::string number = std::to_string(i * 7);
    text += number + " the";
    expected.insert(expected.end(), number.begin(), number.end());
    expected.push_back(258);
  }
  EXPECT_EQ(bpe->encode(text + text).size(), 2 * expected.size());
  EXPECT_EQ(bpe->encode(text), expected);
}

TEST(OpenTokenizer, NamesTheFileThatAModelsFolderLacks) {
  const testing_support::TokenizerFolder folder("lacking");
  const auto refusal = [&](const char* config) {
    folder.write("config.json", config);
    return testing_support::refusal_of(Exit::kInput, [&] { open_tokenizer(folder.path()); });
  };
  EXPECT_THAT(refusal(R"({"pos_att_type": "p2c|c2p"})"), HasSubstr("holds no spm.model, which"));
  EXPECT_THAT(refusal(R"({"relative_attention_num_buckets": 32})"), HasSubstr("no spiece.model"));
  EXPECT_THAT(refusal("{}"), HasSubstr("take vocab.json and merges.txt from where"));
  EXPECT_THAT(testing_support::refusal_of(Exit::kInput, [] { open_tokenizer("no/such"); }),
              HasSubstr("put the folder there that the model comes with, as Hugging Face's hub"));
}

}  // namespace
}  // namespace zero
