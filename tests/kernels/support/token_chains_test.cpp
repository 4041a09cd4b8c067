// Ranks: 1

#include "kernels/support/token_chains.hpp"

#include <gtest/gtest.h>

#include "kernels/support/elements.hpp"
#include "zero/base/philox.hpp"
#include "zero/base/text.hpp"

namespace zero::kernels {
namespace {

std::vector<int32_t> random_tokens(int64_t rows, uint32_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int64_t r = 0; r < rows; ++r)
    tokens.push_back(int32_t(philox({{uint32_t(r), 0, 0, 0}}, 7).word[0] % vocabulary));
  return tokens;
}

struct Links {
  std::vector<int32_t> next, first;
};

/// Work item by work item, the last row first.
Links linked(const std::vector<int32_t>& tokens, int64_t vocabulary) {
  const auto rows = int64_t(tokens.size());
  Links links{std::vector<int32_t>(tokens.size(), 12345), std::vector<int32_t>(tokens.size(), 1)};
  std::vector<uint32_t> words(size_t(vocabulary * TokenSegments::kWords));
  const TokenSegments segments{rows, tokens.data(), words.data()};
  const MarkSegments mark{segments};
  const LinkRow link{segments, {nullptr, links.next.data(), links.first.data()}};
  for (int64_t r = rows - 1; r >= 0; --r) mark(r);
  for (int64_t r = rows - 1; r >= 0; --r) link(r);
  return links;
}

Links linked_in_order(const std::vector<int32_t>& tokens, int64_t vocabulary) {
  Links links{std::vector<int32_t>(tokens.size(), -1), std::vector<int32_t>(tokens.size(), 1)};
  std::vector<int32_t> last(size_t(vocabulary), -1);
  for (size_t r = 0; r < tokens.size(); ++r) {
    int32_t& before = last[size_t(tokens[r])];
    if (before >= 0) links.next[size_t(before)] = int32_t(r), links.first[r] = 0;
    before = int32_t(r);
  }
  return links;
}

TEST(TokenSegments, LinkTheRowsOfEachTokenInOrder) {
  for (int64_t rows : {1, 31, 256, 257, 3000, 8192}) {
    for (uint32_t vocabulary : {1u, 7u, 500u, 50257u}) {
      SCOPED_TRACE(text(rows, " rows of ", vocabulary, " tokens"));
      const std::vector<int32_t> tokens = random_tokens(rows, vocabulary);
      const Links links = linked(tokens, vocabulary),
                  expected = linked_in_order(tokens, vocabulary);
      EXPECT_EQ(links.next, expected.next);
      EXPECT_EQ(links.first, expected.first);
    }
  }
}

TEST(TokenSegments, FindATokenInTheLastOfThem) {
  std::vector<int32_t> tokens(5000, 0);
  tokens.front() = tokens.back() = 1;
  EXPECT_EQ(linked(tokens, 2).next.front(), 4999);
}

}  // namespace
}  // namespace zero::kernels
