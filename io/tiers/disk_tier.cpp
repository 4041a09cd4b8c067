#include "zero/io/tiers/disk_tier.hpp"

#include <algorithm>

#include "zero/base/align.hpp"
#include "zero/base/crc32c.hpp"
#include "zero/base/error.hpp"

namespace zero::tiers {
namespace {

/// visit(index of the block, its bytes)
template <class Visit>
void for_each_block(int64_t offset, std::span<const std::byte> memory, const Visit& visit) {
  for (size_t at = 0; at < memory.size(); at += size_t(kDiskBlockBytes)) {
    const size_t bytes = std::min(memory.size() - at, size_t(kDiskBlockBytes));
    visit(size_t((offset + int64_t(at)) / kDiskBlockBytes), memory.subspan(at, bytes));
  }
}

}  // namespace

BlockTable::BlockTable(int64_t bytes) : entries_(size_t(ceil_div(bytes, kDiskBlockBytes))) {}

void BlockTable::note(int64_t offset, std::span<const std::byte> memory, int64_t step) {
  for_each_block(offset, memory, [&](size_t block, std::span<const std::byte> bytes) {
    entries_[block] = {.crc = crc32c(bytes), .bytes = uint32_t(bytes.size()), .step = step};
  });
}

void BlockTable::check(int64_t offset, std::span<const std::byte> memory,
                       const DiskFiles& files) const {
  for_each_block(offset, memory, [&](size_t block, std::span<const std::byte> bytes) {
    const Entry& entry = entries_[block];
    ZERO_REQUIRE(entry.bytes == bytes.size(), "block ", block, " on disk is read with ",
                 bytes.size(), " bytes and was written with ", entry.bytes);
    if (crc32c(bytes) == entry.crc) return;
    const DiskFiles::Piece place = files.piece_at(int64_t(block) * kDiskBlockBytes, 1);
    refuse(Exit::kIo, place.file->name, ": the block at offset ", place.offset,
           ", written in step ", entry.step,
           ", reads back as other bytes than were written: do not trust this disk");
  });
}

DiskTier::DiskTier(const DiskFiles& files, BlockTable& table, std::unique_ptr<aio::Engine> engine,
                   const aio::QueueOptions& options)
    : files_(files),
      table_(table),
      queue_(std::move(engine), options),
      tickets_(size_t(options.transfers)) {}

void DiskTier::write(int64_t offset, std::span<std::byte> memory, int64_t step) {
  table_.note(offset, memory, step);
  move(aio::Direction::write, offset, memory);
}

void DiskTier::read(int64_t offset, std::span<std::byte> memory) {
  move(aio::Direction::read, offset, memory);
  table_.check(offset, memory, files_);
}

void DiskTier::move(aio::Direction direction, int64_t offset, std::span<std::byte> memory) {
  ZERO_REQUIRE(offset % kDiskBlockBytes == 0, "offset ", offset, " on disk: must be a multiple of ",
               kDiskBlockBytes);
  ZERO_REQUIRE(reinterpret_cast<uintptr_t>(memory.data()) % uintptr_t(files_.align_bytes()) == 0 &&
                   int64_t(memory.size()) % files_.align_bytes() == 0,
               memory.size(), " bytes for the disk: place and length must be multiples of ",
               files_.align_bytes());
  size_t sent = 0, done = 0;
  for (int64_t begin = 0; begin < int64_t(memory.size());) {
    const DiskFiles::Piece piece = files_.piece_at(offset + begin, int64_t(memory.size()) - begin);
    if (sent - done == tickets_.size()) queue_.wait(tickets_[done++ % tickets_.size()]);
    tickets_[sent++ % tickets_.size()] =
        queue_.submit({.direction = direction,
                       .file = piece.file,
                       .offset = piece.offset,
                       .memory = memory.subspan(size_t(begin), size_t(piece.bytes))});
    begin += piece.bytes;
  }
  while (done < sent) queue_.wait(tickets_[done++ % tickets_.size()]);
}

}  // namespace zero::tiers
