#include "src/run/disk_window.hpp"

#include <algorithm>
#include <cstring>

#include "zero/base/align.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::run {

static_assert(plan::kDiskExtentAlignBytes == tiers::kDiskBlockBytes,
              "the plan places buffers where blocks begin");

void DiskWindow::clear() {
  const std::lock_guard lock(mutex_);
  std::memset(window_.data(), 0, window_.size());
  for (const plan::Buffer& buffer : plan_.buffers) {
    if (buffer.tier != plan::Tier::nvme || !buffer.persistent) continue;
    for (int64_t at = 0; at < buffer.bytes; at += int64_t(window_.size())) {
      const size_t bytes = std::min(window_.size(), size_t(buffer.bytes - at));
      disks_.write->write(buffer.offset + at, window_.first(bytes), 0);
    }
  }
}

DiskWindow::View DiskWindow::view(int32_t buffer, int64_t offset, size_t bytes) const {
  const plan::Buffer& place = plan_.buffers.at(size_t(buffer));
  const int64_t begin = offset / plan::kDiskExtentAlignBytes * plan::kDiskExtentAlignBytes;
  const int64_t end = std::min({round_up(offset + int64_t(bytes), plan::kDiskExtentAlignBytes),
                                begin + int64_t(window_.size()), place.bytes});
  const std::span<std::byte> blocks = window_.first(size_t(end - begin));
  const size_t first = size_t(offset - begin);
  return {.place = place.offset + begin,
          .blocks = blocks,
          .part = blocks.subspan(first, std::min(bytes, blocks.size() - first))};
}

void DiskWindow::read(int32_t buffer, int64_t offset, std::span<std::byte> out) {
  const std::lock_guard lock(mutex_);
  while (!out.empty()) {
    const View seen = view(buffer, offset, out.size());
    disks_.read->read(seen.place, seen.blocks);
    std::copy(seen.part.begin(), seen.part.end(), out.begin());
    offset += int64_t(seen.part.size());
    out = out.subspan(seen.part.size());
  }
}

void DiskWindow::write(int32_t buffer, int64_t offset, std::span<const std::byte> in) {
  const std::lock_guard lock(mutex_);
  while (!in.empty()) {
    const View seen = view(buffer, offset, in.size());
    if (seen.part.size() < seen.blocks.size()) disks_.read->read(seen.place, seen.blocks);
    std::copy_n(in.begin(), seen.part.size(), seen.part.begin());
    disks_.write->write(seen.place, seen.blocks, 0);
    offset += int64_t(seen.part.size());
    in = in.subspan(seen.part.size());
  }
}

}  // namespace zero::run
