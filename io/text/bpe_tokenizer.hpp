#pragma once
/// The two steps of a byte-level BPE: cutting a text into words, and merging the symbols of a word.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace zero {

/// Returns the end of the word at byte `at` of `text`, by the pattern of Radford et al. 2019:
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// A byte outside UTF-8 characters is a word of its own and no blank. Reads at most one character
/// past the word. REQUIRES: at < text.size().
size_t word_end(std::string_view text, size_t at);

struct BpeMerge {
  int32_t left = 0, right = 0, result = 0;  // ids
};

/// A hash table from a pair of ids to the place of its merge in merges.txt. It only grows.
class MergeTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit MergeTable(size_t merges);
  /// Adds a pair. False if it has a rank already.
  bool add(int32_t left, int32_t right, uint32_t rank);
  /// Returns the pair's rank, or kNone. Lower ranks are merged first.
  uint32_t rank(int32_t left, int32_t right) const;

 private:
  struct Slot {
    uint64_t pair = 0;
    uint32_t rank = kNone;
  };
  size_t slot_of(uint64_t pair) const;

  std::vector<Slot> slots_;  // power of two, at most half taken
  int shift_ = 0;
  uint64_t key_ = 0;  // of the process, so nobody can write merges that share a slot
};

/// A merger of the symbols of words, one word at a time. It keeps its arrays between words. Views
/// the table and the merges, which must outlive it.
class WordMerger {
 public:
  WordMerger(const MergeTable& table, std::span<const BpeMerge> merges)
      : table_(&table), merges_(merges) {}

  /// Replaces the pair of least rank, the leftmost of equals, by its result until no pair has a
  /// rank. Appends the ids to `out`. Takes O(n log n) for n symbols. Throws Error(kInput) for
  /// UINT32_MAX symbols or more.
  void merge(std::span<const int32_t> symbols, std::vector<int32_t>& out);

 private:
  struct Symbol {
    int32_t id = 0;
    uint32_t rank = MergeTable::kNone;  // rank of this symbol with the next
    uint32_t previous = 0, next = 0;    // places
  };
  void offer(uint32_t place);
  void join(uint32_t place);

  const MergeTable* table_;
  std::span<const BpeMerge> merges_;
  std::vector<Symbol> symbols_;
  std::vector<uint64_t> heap_;  // rank << 32 | place, least on top; some are outdated
};

}  // namespace zero
