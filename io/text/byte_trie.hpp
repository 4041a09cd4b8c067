#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace zero {

/// A trie of byte strings, with 9 bytes a node. Nodes are numbered level by level, so no node is
/// deeper than a later one. The root is 0.
class ByteTrie {
 public:
  static constexpr uint32_t kNoNode = UINT32_MAX;
  static constexpr int32_t kNoValue = -1;

  struct Entry {
    std::string_view text;
    int32_t value = 0;  ///< 0 or more
  };
  ByteTrie() : ByteTrie(std::span<const Entry>()) {}
  /// REQUIRES: entries are sorted by their texts. The first of equal texts counts.
  explicit ByteTrie(std::span<const Entry> sorted);

  size_t nodes() const { return bytes_.size(); }
  /// Returns the value of the text that ends at a node, or kNoValue.
  int32_t value(uint32_t node) const { return values_[node]; }
  /// Returns the node that `byte` leads to from `node`, or kNoNode.
  uint32_t child(uint32_t node, uint8_t byte) const;
  /// Returns the first child of a node. The last is before first_child(node + 1).
  uint32_t first_child(uint32_t node) const { return first_child_[node]; }
  /// Returns the byte that leads to a node other than the root.
  uint8_t byte(uint32_t node) const { return bytes_[node]; }

 private:
  std::vector<uint8_t> bytes_;
  std::vector<int32_t> values_;
  std::vector<uint32_t> first_child_;  // [nodes + 1] ends with the count of nodes
};

}  // namespace zero
