#pragma once
/// The two steps of a byte-level BPE: a text is cut into words, and the symbols of a word are
/// merged.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace zero {

/// Where the word ends that begins at byte `at` of `text`, by the pattern of Radford et al. 2019
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// A byte that belongs to no UTF-8 character is a word of its own and no blank. Needs at <
/// text.size(); reads no further than one character after the word.
size_t word_end(std::string_view text, size_t at);

struct BpeMerge {
  int32_t left = 0, right = 0, result = 0;  // ids
};

/// From a pair of ids to the place of its merge in merges.txt: a hash table that only grows.
class MergeTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit MergeTable(size_t merges);
  /// False if the pair has a rank already.
  bool add(int32_t left, int32_t right, uint32_t rank);
  /// The lower, the earlier it is merged; kNone for a pair that is not.
  uint32_t rank(int32_t left, int32_t right) const;

 private:
  struct Slot {
    uint64_t pair = 0;
    uint32_t rank = kNone;
  };
  size_t slot_of(uint64_t pair) const;

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  int shift_ = 0;
};

/// Merges the symbols of one word after the other, and keeps its arrays between them. Views the
/// table and the merges, which must outlive it.
class WordMerger {
 public:
  WordMerger(const MergeTable& table, std::span<const BpeMerge> merges)
      : table_(&table), merges_(merges) {}

  /// Replaces the pair of least rank, the leftmost of equals, by its result, until no pair has a
  /// rank; appends the ids to `out`. O(n log n) in the word's n symbols. Throws Error(kInput) if
  /// they are 2^32 - 1 or more.
  void merge(std::span<const int32_t> symbols, std::vector<int32_t>& out);

 private:
  struct Symbol {
    int32_t id = 0;
    uint32_t rank = MergeTable::kNone;  // of this one with the next
    uint32_t previous = 0, next = 0;    // places
  };
  void offer(uint32_t place);
  void join(uint32_t place);

  const MergeTable* table_;
  std::span<const BpeMerge> merges_;
  std::vector<Symbol> symbols_;
  std::vector<uint64_t> heap_;  // rank << 32 | place, the least on top; some are out of date
};

}  // namespace zero
