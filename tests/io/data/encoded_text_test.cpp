// Ranks: 1

#include "io/data/encoded_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_file.hpp"

namespace zero {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::TempFile;

/// Every two bytes are a token: the number of the letter of the first.
class Pairs : public Tokenizer {
 public:
  explicit Pairs(uint64_t fingerprint = 1) : fingerprint_(fingerprint) {}
  int64_t vocab_size() const override { return 26; }
  std::vector<int32_t> encode(std::string_view text) const override {
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

std::string error_of(const TempFile& text) {
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
  EXPECT_THAT(error_of(text), HasSubstr("offset 3: byte 255 is no UTF-8 text"));
  text.write("caf\xE9 zzz");
  EXPECT_THAT(error_of(text), HasSubstr("offset 3: byte 233 is no UTF-8 text"));
}

TEST(EncodedText, RefusesALongTextAndSaysHowToGoOn) {
  const TempFile text("a.txt", "ab");
  std::filesystem::resize_file(text.path(), uintmax_t(EncodedText::kMostBytes) + 1);
  EXPECT_THAT(error_of(text), HasSubstr("at most 67108864 are encoded"));
  EXPECT_THAT(error_of(text), HasSubstr("how to go on"));
}

}  // namespace
}  // namespace zero
