#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace zero::tiers {

/// Bytes of a disk; both numbers are multiples of kDiskBlockBytes.
struct DiskExtent {
  int64_t offset = 0, bytes = 0;
};

/// Which of its two slots each block of some extents of a disk is in: its own place, and one behind
/// all other bytes. While a save reads what a freeze() has found, the first write to a block goes
/// to its other slot, which nobody copies anything to: so two slots and no memory are all that a
/// save beside training takes. Blocks outside of the extents have one slot, their place.
///
/// freeze() and thaw() are called while nobody writes. Two lanes may use the rest at a time if they
/// never meet in a block, and frozen() beside them any other thread.
class SlotTable {
 public:
  /// Of a disk on which nothing has two slots.
  SlotTable() = default;
  /// The extents ascend and do not meet; their second slots lie one behind the other from `second`
  /// on, a multiple of kDiskBlockBytes.
  SlotTable(std::span<const DiskExtent> extents, int64_t second);

  /// What the second slots take.
  static int64_t bytes_for(std::span<const DiskExtent> extents);

  bool empty() const { return ranges_.empty(); }

  /// What every block holds now stays on the disk until thaw().
  void freeze();
  void thaw() { is_frozen_ = false; }

  /// Bytes are about to be written, all of each block: each has its place from now on where that
  /// may be.
  void claim(int64_t offset, int64_t bytes);

  /// Where bytes from `offset` on lie, and how many of them in a row, at most `bytes`: those that
  /// were written last; those that the last freeze() found.
  DiskExtent current(int64_t offset, int64_t bytes) const { return find(offset, bytes, is_second); }
  DiskExtent frozen(int64_t offset, int64_t bytes) const { return find(offset, bytes, was_second); }

 private:
  struct Range {
    int64_t begin, end;
    int64_t second;  ///< the second slot of its first byte
  };
  /// Of a block: in the second slot, and gone there or back since the last freeze.
  static constexpr uint8_t kSecond = 1, kMoved = 2;
  static bool is_second(uint8_t state) { return (state & kSecond) != 0; }
  static bool was_second(uint8_t state) { return state == kSecond || state == kMoved; }

  /// The range that ends behind `offset`, or the end.
  std::vector<Range>::const_iterator range_at(int64_t offset) const;
  DiskExtent find(int64_t offset, int64_t bytes, bool (*in_second)(uint8_t)) const;
  std::atomic<uint8_t>& state_at(int64_t offset) const;

  std::vector<Range> ranges_;
  std::unique_ptr<std::atomic<uint8_t>[]> states_;  ///< [blocks up to the end of the last range]
  bool is_frozen_ = false;
};

}  // namespace zero::tiers
