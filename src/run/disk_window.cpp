#include "zero/run/disk_window.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "zero/base/align.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::run {

static_assert(plan::kDiskExtentAlignBytes == tiers::kDiskBlockBytes,
              "the plan places buffers where blocks begin");

void DiskWindow::fill() {
  if (filled_) return;
  const std::lock_guard lock(mutex_);
  std::memset(window_.data(), 0, window_.size());
  for (const plan::Buffer& buffer : plan_.buffers) {
    if (buffer.tier != plan::Tier::nvme || !buffer.persistent) continue;
    for (int64_t at = 0; at < buffer.bytes;) {
      const size_t most = std::min(window_.size(), size_t(buffer.bytes - at));
      const Stretch stretch = stretch_at(buffer.offset + at, most);
      if (!stretch.written) {
        disks_.write->write(buffer.offset + at, window_.first(stretch.bytes), 0);
      }
      at += int64_t(stretch.bytes);
    }
  }
  filled_ = true;
}

void DiskWindow::rewrite() {
  const std::lock_guard lock(mutex_);
  for (const plan::Buffer& buffer : plan_.buffers) {
    if (buffer.tier != plan::Tier::nvme || !buffer.persistent) continue;
    for (int64_t at = 0; at < buffer.bytes; at += int64_t(window_.size())) {
      const size_t bytes = std::min(window_.size(), size_t(buffer.bytes - at));
      disks_.read->read(buffer.offset + at, window_.first(bytes));
      disks_.write->write(buffer.offset + at, window_.first(bytes), 0);
    }
  }
}

DiskTiming DiskWindow::try_out(double most_seconds, bool writes) {
  const std::lock_guard lock(mutex_);
  DiskTiming trial;
  for (const plan::Buffer& buffer : plan_.buffers) {
    if (buffer.tier != plan::Tier::nvme) continue;
    const int64_t bytes = round_up(buffer.bytes, plan::kPageBytes);  // ops move whole pages
    for (int64_t at = 0; at < bytes;) {
      if (trial.read.seconds + trial.write.seconds >= most_seconds) return trial;
      const size_t most = std::min(window_.size(), size_t(bytes - at));
      const std::span blocks = window_.first(stretch_at(buffer.offset + at, most).bytes);
      try_out(buffer.offset + at, blocks, writes, trial);
      at += int64_t(blocks.size());
    }
  }
  return trial;
}

void DiskWindow::try_out(int64_t place, std::span<std::byte> blocks, bool writes,
                         DiskTiming& trial) {
  const auto timed = [&](DiskTiming::Way& way, const auto& move) {
    const auto start = std::chrono::steady_clock::now();
    move();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    way.seconds += took.count();
    way.bytes += int64_t(blocks.size());
  };
  const bool written = disks_.read->is_written(place);
  const auto read = [&] { timed(trial.read, [&] { disks_.read->read(place, blocks); }); };
  if (written) read();
  if (writes || !written) timed(trial.write, [&] { disks_.write->write(place, blocks, 0); });
  if (!written) read();
}

DiskWindow::Stretch DiskWindow::stretch_at(int64_t place, size_t bytes) const {
  const bool written = disks_.read->is_written(place);
  int64_t end = tiers::kDiskBlockBytes;
  while (end < int64_t(bytes) && disks_.read->is_written(place + end) == written) {
    end += tiers::kDiskBlockBytes;
  }
  return {.bytes = std::min(bytes, size_t(end)), .written = written};
}

void DiskWindow::load(int64_t place, std::span<std::byte> blocks) const {
  while (!blocks.empty()) {
    const Stretch stretch = stretch_at(place, blocks.size());
    const std::span<std::byte> part = blocks.first(stretch.bytes);
    if (stretch.written) {
      disks_.read->read(place, part);
    } else {
      std::memset(part.data(), 0, part.size());
    }
    place += int64_t(stretch.bytes);
    blocks = blocks.subspan(stretch.bytes);
  }
}

/// Loads the blocks that are to be written only in part.
void DiskWindow::load_edges(const View& seen) const {
  const size_t block = size_t(tiers::kDiskBlockBytes), size = seen.blocks.size();
  const size_t before = size_t(seen.part.data() - seen.blocks.data());
  const size_t after = size - before - seen.part.size(), last = (size - 1) / block * block;
  if (before > 0 || (after > 0 && last == 0)) {
    load(seen.place, seen.blocks.first(std::min(block, size)));
  }
  if (after > 0 && last > 0) load(seen.place + int64_t(last), seen.blocks.subspan(last));
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
    load(seen.place, seen.blocks);
    std::copy(seen.part.begin(), seen.part.end(), out.begin());
    offset += int64_t(seen.part.size());
    out = out.subspan(seen.part.size());
  }
}

void DiskWindow::write(int32_t buffer, int64_t offset, std::span<const std::byte> in) {
  const std::lock_guard lock(mutex_);
  while (!in.empty()) {
    const View seen = view(buffer, offset, in.size());
    load_edges(seen);
    std::copy_n(in.begin(), seen.part.size(), seen.part.begin());
    disks_.write->write(seen.place, seen.blocks, 0);
    offset += int64_t(seen.part.size());
    in = in.subspan(seen.part.size());
  }
}

}  // namespace zero::run
