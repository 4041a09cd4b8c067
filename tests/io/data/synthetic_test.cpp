// Ranks: 1

#include "io/data/synthetic.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "zero/base/error.hpp"

namespace zero {
namespace {

std::vector<int32_t> tokens_of(const TokenSource& source, int64_t first, size_t count) {
  std::vector<int32_t> out(count);
  source.read(first, out);
  return out;
}

TEST(SyntheticTokens, AreAFunctionOfSeedAndPosition) {
  const SyntheticTokens tokens(7, 100, 1000), same(7, 100, 1000), other(8, 100, 1000);
  const std::vector<int32_t> all = tokens_of(tokens, 0, 100);
  EXPECT_EQ(tokens_of(same, 0, 100), all);
  EXPECT_NE(tokens_of(other, 0, 100), all);
  EXPECT_EQ(tokens_of(tokens, 37, 5), std::vector<int32_t>(all.begin() + 37, all.begin() + 42));
}

TEST(SyntheticTokens, UseTheWholeVocabularyAndNoMore) {
  std::vector<int> seen(10);
  const std::vector<int32_t> all = tokens_of(SyntheticTokens(1, 10000, 10), 0, 10000);
  for (const int32_t token : all) {
    ASSERT_TRUE(token >= 0 && token < 10);
    ++seen[size_t(token)];
  }
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
}

TEST(SyntheticTokens, EndWhereTheySay) {
  const SyntheticTokens tokens(1, 10, 5);
  EXPECT_THROW(tokens_of(tokens, 8, 3), Error);
  EXPECT_NE(tokens.fingerprint(), SyntheticTokens(2, 10, 5).fingerprint());
  EXPECT_NE(tokens.fingerprint(), SyntheticTokens(1, 10, 6).fingerprint());
}

}  // namespace
}  // namespace zero
