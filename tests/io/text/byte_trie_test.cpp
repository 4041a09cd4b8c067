// Ranks: 1
#include "io/text/byte_trie.hpp"

#include <gtest/gtest.h>

namespace zero {
namespace {

uint32_t walk(const ByteTrie& trie, std::string_view text) {
  uint32_t node = 0;
  for (const char byte : text) {
    if (node != ByteTrie::kNoNode) node = trie.child(node, uint8_t(byte));
  }
  return node;
}

TEST(ByteTrie, LeadsToTheValuesOfItsTexts) {
  const std::vector<ByteTrie::Entry> entries = {{"a", 5}, {"ab", 6}, {"ab", 7}, {"b\xFF", 8}};
  const ByteTrie trie(entries);
  EXPECT_EQ(trie.nodes(), 5u);
  EXPECT_EQ(trie.value(walk(trie, "a")), 5);
  EXPECT_EQ(trie.value(walk(trie, "ab")), 6) << "the first of equal texts";
  EXPECT_EQ(trie.value(walk(trie, "b")), ByteTrie::kNoValue);
  EXPECT_EQ(trie.value(walk(trie, "b\xFF")), 8);
  EXPECT_EQ(walk(trie, "abc"), ByteTrie::kNoNode);
  EXPECT_EQ(trie.byte(trie.first_child(0)), 'a');
}

TEST(ByteTrie, OfNothingHasARootAlone) {
  const ByteTrie trie;
  EXPECT_EQ(trie.nodes(), 1u);
  EXPECT_EQ(trie.child(0, 'a'), ByteTrie::kNoNode);
}

}  // namespace
}  // namespace zero
