#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::tiers {

SlotTable::SlotTable(std::span<const DiskExtent> extents, int64_t second) {
  int64_t end = 0;
  for (const DiskExtent& extent : extents) {
    ZERO_REQUIRE(extent.offset >= end && extent.bytes > 0 && extent.offset % kDiskBlockBytes == 0 &&
                     extent.bytes % kDiskBlockBytes == 0,
                 "an extent of ", extent.bytes, " bytes at ", extent.offset, ", behind ", end);
    end = extent.offset + extent.bytes;
    ranges_.push_back({extent.offset, end, second});
    second += extent.bytes;
  }
  const size_t blocks = size_t(end / kDiskBlockBytes);
  states_ = std::make_unique<std::atomic<uint8_t>[]>(blocks);
}

int64_t SlotTable::bytes_for(std::span<const DiskExtent> extents) {
  int64_t bytes = 0;
  for (const DiskExtent& extent : extents) bytes += extent.bytes;
  return bytes;
}

void SlotTable::freeze() {
  ZERO_REQUIRE(!is_frozen_, "what a save reads is frozen once");
  for (const Range& range : ranges_) {
    for (int64_t at = range.begin; at < range.end; at += kDiskBlockBytes) state_at(at) &= kSecond;
  }
  is_frozen_ = true;
}

void SlotTable::claim(int64_t offset, int64_t bytes) {
  if (!is_frozen_) return;
  const int64_t end = offset + bytes;
  for (auto range = range_at(offset); range != ranges_.end() && range->begin < end; ++range) {
    const int64_t last = std::min(range->end, end);
    for (int64_t at = std::max(range->begin, offset); at < last; at += kDiskBlockBytes) {
      std::atomic<uint8_t>& state = state_at(at);
      if ((state & kMoved) == 0) state = uint8_t(state ^ (kSecond | kMoved));
    }
  }
}

std::vector<SlotTable::Range>::const_iterator SlotTable::range_at(int64_t offset) const {
  return std::ranges::upper_bound(ranges_, offset, {}, &Range::end);
}

DiskExtent SlotTable::find(int64_t offset, int64_t bytes, bool (*in_second)(uint8_t)) const {
  const auto range = range_at(offset);
  if (range == ranges_.end()) return {offset, bytes};
  if (offset < range->begin) return {offset, std::min(bytes, range->begin - offset)};
  const bool second = in_second(state_at(offset));
  const int64_t most = std::min(offset + bytes, range->end);
  int64_t end = offset + kDiskBlockBytes;
  while (end < most && in_second(state_at(end)) == second) end += kDiskBlockBytes;
  return {second ? range->second + offset - range->begin : offset, std::min(end, most) - offset};
}

std::atomic<uint8_t>& SlotTable::state_at(int64_t offset) const {
  return states_[size_t(offset / kDiskBlockBytes)];
}

}  // namespace zero::tiers
