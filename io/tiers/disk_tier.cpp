#include "zero/io/tiers/disk_tier.hpp"

#include <algorithm>

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"

namespace zero::tiers {
namespace {

/// Calls visit(index of the block, its bytes) for each block.
template <class Visit>
void for_each_block(int64_t offset, std::span<const std::byte> memory, const Visit& visit) {
  for (size_t at = 0; at < memory.size(); at += size_t(kDiskBlockBytes)) {
    const size_t bytes = std::min(memory.size() - at, size_t(kDiskBlockBytes));
    visit(size_t((offset + int64_t(at)) / kDiskBlockBytes), memory.subspan(at, bytes));
  }
}

/// Returns enough transfers for a busy engine. Each has at least one block, and depth() more wait
/// while the oldest is waited for.
int enough_transfers(const aio::QueueOptions& options, const aio::Engine& engine) {
  return std::max(options.transfers, 2 * engine.depth());
}

aio::QueueOptions with_transfers(aio::QueueOptions options, int transfers) {
  options.transfers = transfers;
  return options;
}

}  // namespace

BlockTable::BlockTable(int64_t bytes) : entries_(size_t(ceil_div(bytes, kDiskBlockBytes))) {}

void BlockTable::note(int64_t offset, std::span<const std::byte> memory, int64_t step) {
  for_each_block(offset, memory, [&](size_t block, std::span<const std::byte> bytes) {
    entries_[block] = {.xxh3 = xxh3_of(bytes), .bytes = uint32_t(bytes.size()), .step = step};
  });
}

void BlockTable::check(int64_t offset, std::span<const std::byte> memory,
                       const DiskFiles& files) const {
  for_each_block(offset, memory, [&](size_t block, std::span<const std::byte> bytes) {
    const Entry& entry = entries_[block];
    ZERO_REQUIRE(entry.bytes == bytes.size(), "block ", block, " on disk is read with ",
                 bytes.size(), " bytes and was written with ", entry.bytes);
    if (xxh3_of(bytes) == entry.xxh3) return;
    const DiskFiles::FileRange place = files.range_at(int64_t(block) * kDiskBlockBytes, 1);
    refuse(Exit::kIo, place.file->name, ": the block at offset ", place.offset,
           ", written in step ", entry.step,
           ", reads back as other bytes than were written: do not trust this disk");
  });
}

DiskTier::DiskTier(const DiskFiles& files, const DiskBlocks& blocks,
                   std::unique_ptr<aio::Engine> engine, const aio::QueueOptions& options)
    : files_(files),
      blocks_(blocks),
      transfers_(enough_transfers(options, *engine)),
      queue_(std::move(engine), with_transfers(options, transfers_)),
      part_bytes_(round_up(std::max(kStripeBytes, options.block_bytes), kDiskBlockBytes)),
      parts_(size_t(transfers_)) {}

void DiskTier::write(int64_t offset, std::span<std::byte> memory, int64_t step, Sums sums) {
  ZERO_REQUIRE(!blocks_.is_frozen, "what a save reads is written to");
  move({.direction = aio::Direction::write,
        .offset = offset,
        .memory = memory,
        .sums = sums,
        .step = step});
}

void DiskTier::read(int64_t offset, std::span<std::byte> memory, Sums sums) {
  move({.direction = aio::Direction::read, .offset = offset, .memory = memory, .sums = sums});
}

/// Calls visit(place in the files, the bytes that lie there in a row) for each stretch.
template <class Visit>
void DiskTier::for_each_place(int64_t offset, std::span<const std::byte> memory,
                              const Visit& visit) const {
  for (size_t at = 0; at < memory.size();) {
    const auto left = memory.subspan(at);
    const DiskExtent place = place_of(offset + int64_t(at), int64_t(left.size()));
    visit(place.offset, left.first(size_t(place.bytes)));
    at += size_t(place.bytes);
  }
}

void DiskTier::check(int64_t offset, std::span<const std::byte> memory) const {
  for_each_place(offset, memory, [&](int64_t place, std::span<const std::byte> bytes) {
    blocks_.table->check(place, bytes, files_);
  });
}

void DiskTier::note(int64_t offset, std::span<const std::byte> memory, int64_t step) const {
  if (blocks_.slots != nullptr) blocks_.slots->claim(offset, int64_t(memory.size()));
  for_each_place(offset, memory, [&](int64_t place, std::span<const std::byte> bytes) {
    blocks_.table->note(place, bytes, step);
  });
}

void DiskTier::move(const Move& asked) {
  const int64_t bytes = int64_t(asked.memory.size()), align = files_.align_bytes();
  ZERO_REQUIRE(asked.offset % kDiskBlockBytes == 0, "offset ", asked.offset,
               " on disk: must be a multiple of ", kDiskBlockBytes);
  ZERO_REQUIRE(reinterpret_cast<uintptr_t>(asked.memory.data()) % uintptr_t(align) == 0 &&
                   bytes % align == 0,
               bytes, " bytes for the disk: place and length must be multiples of ", align);
  failure_ = nullptr;
  is_moving_.store(true, std::memory_order_relaxed);
  size_t sent = 0, done = 0;
  const auto next = [this](size_t& index) -> Part& { return parts_[index++ % parts_.size()]; };
  for (int64_t begin = 0; begin < bytes && !failure_;) {
    if (sent - done == parts_.size()) finish(next(done), asked);
    const Part part = start(asked, begin);
    begin += int64_t(part.memory.size());
    next(sent) = part;
  }
  // Wait after a failure too: the caller gets its memory back.
  while (done < sent) finish(next(done), asked);
  is_moving_.store(false, std::memory_order_relaxed);
  if (failure_) std::rethrow_exception(failure_);
}

DiskTier::Part DiskTier::start(const Move& asked, int64_t begin) {
  const int64_t offset = asked.offset + begin, left = int64_t(asked.memory.size()) - begin;
  const int64_t most = std::min(left, part_bytes_);
  const bool writes = asked.direction == aio::Direction::write;
  if (writes && blocks_.slots != nullptr) blocks_.slots->claim(offset, most);
  const DiskExtent place = place_of(offset, most);
  const DiskFiles::FileRange range = files_.range_at(place.offset, place.bytes);
  const auto memory = asked.memory.subspan(size_t(begin), size_t(range.bytes));
  if (writes && asked.sums == Sums::here) blocks_.table->note(place.offset, memory, asked.step);
  return {.ticket = queue_.submit({.direction = asked.direction,
                                   .file = range.file,
                                   .offset = range.offset,
                                   .memory = memory}),
          .place = place.offset,
          .memory = memory};
}

void DiskTier::finish(const Part& part, const Move& asked) {
  try {
    queue_.wait(part.ticket);
    const bool checks = asked.direction == aio::Direction::read && asked.sums == Sums::here;
    if (checks) blocks_.table->check(part.place, part.memory, files_);
  } catch (const Error&) {
    if (!failure_) failure_ = std::current_exception();
  }
}

}  // namespace zero::tiers
