#include "io/text/byte_trie.hpp"

#include <algorithm>
#include <queue>

namespace zero {

ByteTrie::ByteTrie(std::span<const Entry> sorted) : bytes_(1) {
  /// A range of entries under a node, which share their first `depth` bytes.
  struct Range {
    size_t begin, end, depth;
  };
  std::queue<Range> open({{.begin = 0, .end = sorted.size(), .depth = 0}});
  for (; !open.empty(); open.pop()) {
    auto [begin, end, depth] = open.front();
    const bool ends_here = begin < end && sorted[begin].text.size() == depth;
    values_.push_back(ends_here ? sorted[begin].value : kNoValue);
    first_child_.push_back(uint32_t(bytes_.size()));
    while (begin < end && sorted[begin].text.size() == depth) ++begin;
    while (begin < end) {
      const char byte = sorted[begin].text[depth];
      const size_t first = begin;
      while (begin < end && sorted[begin].text[depth] == byte) ++begin;
      bytes_.push_back(uint8_t(byte));
      open.push({.begin = first, .end = begin, .depth = depth + 1});
    }
  }
  first_child_.push_back(uint32_t(bytes_.size()));
}

uint32_t ByteTrie::child(uint32_t node, uint8_t byte) const {
  const auto end = bytes_.begin() + first_child_[node + 1];
  const auto found = std::lower_bound(bytes_.begin() + first_child_[node], end, byte);
  return found != end && *found == byte ? uint32_t(found - bytes_.begin()) : kNoNode;
}

}  // namespace zero
