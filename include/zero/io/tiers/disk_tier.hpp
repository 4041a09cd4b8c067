#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "zero/base/xxh3.hpp"
#include "zero/io/aio/queue.hpp"
#include "zero/io/tiers/disk_files.hpp"
#include "zero/io/tiers/slot_table.hpp"

namespace zero::tiers {

/// What was last written to each block of the disk tier, of both slots where it has two: its
/// XXH3-128 and the step that wrote it. Held in memory, so no disk can answer with an old block,
/// another's, or half a one. Two lanes may use it at a time if they never meet in a block, as the
/// plan proves.
class BlockTable {
 public:
  explicit BlockTable(int64_t bytes);

  /// `memory` is about to be written at `offset`, a multiple of kDiskBlockBytes; the last block of
  /// a buffer may be shorter.
  void note(int64_t offset, std::span<const std::byte> memory, int64_t step);

  /// Whether the block at `offset` was ever noted.
  bool is_written(int64_t offset) const {
    return entries_[size_t(offset / kDiskBlockBytes)].bytes > 0;
  }

  /// Throws Error(kIo) naming folder, offset and step of the first block that is not what was
  /// noted.
  void check(int64_t offset, std::span<const std::byte> memory, const DiskFiles& files) const;

 private:
  struct Entry {
    Xxh3Digest xxh3 = {};
    uint32_t bytes = 0;  ///< 0: never written
    int64_t step = 0;
  };
  std::vector<Entry> entries_;
};

/// Who computes the checksums of what is moved: the lane that moves it, while other bytes move, or
/// whoever uses the bytes while they are in its cache, by check() and note().
enum class Sums { here, by_user };

/// The blocks that a tier reaches: as they were written last; or only to be read, as the last
/// SlotTable::freeze() found them.
struct DiskBlocks {
  DiskBlocks(BlockTable& written) : table(&written) {}
  DiskBlocks(BlockTable& written, SlotTable& two) : table(&written), slots(&two) {}
  static DiskBlocks frozen(BlockTable& written, SlotTable& two) {
    DiskBlocks blocks(written, two);
    blocks.is_frozen = true;
    return blocks;
  }

  BlockTable* table;
  SlotTable* slots = nullptr;
  bool is_frozen = false;
};

/// The disk of a rank, as one lane uses it. Used by one thread at a time, but for check() and
/// note(); several lanes share files and table.
class DiskTier {
 public:
  /// Of `options`, `transfers` is raised to what keeps the engine's depth busy. What `blocks` is of
  /// outlives the tier.
  DiskTier(const DiskFiles& files, const DiskBlocks& blocks, std::unique_ptr<aio::Engine> engine,
           const aio::QueueOptions& options);

  /// As aio::Engine::register_memory(), between moves.
  std::string register_memory(std::span<std::byte> memory) {
    return queue_.register_memory(memory);
  }

  /// Done when they return. `offset` is a multiple of kDiskBlockBytes, `memory` of
  /// files.align_bytes(). Throw Error(kIo) with file, offset, length and reason; read() also for
  /// bytes that are not those written last, unless its user checks them.
  void write(int64_t offset, std::span<std::byte> memory, int64_t step, Sums sums = Sums::here);
  void read(int64_t offset, std::span<std::byte> memory, Sums sums = Sums::here);

  /// What the user of bytes does with whole blocks of them, on any thread, as long as nobody else
  /// has to do with these blocks: check() after the read and before they change, which throws as
  /// read() does; note() when they have changed, before the write.
  void check(int64_t offset, std::span<const std::byte> memory) const;
  void note(int64_t offset, std::span<const std::byte> memory, int64_t step) const;

  /// Whether the block that begins at `offset` was ever written; if not it cannot be read.
  bool is_written(int64_t offset) const {
    return blocks_.table->is_written(place_of(offset, kDiskBlockBytes).offset);
  }

  const aio::QueueTraffic& traffic() const { return queue_.traffic(); }
  /// Whether a read() or write() is under way, and the bytes that all of them have moved so far,
  /// block by block: readable from any thread at any time.
  bool is_moving() const { return is_moving_.load(std::memory_order_relaxed); }
  int64_t moved_bytes() const { return queue_.moved_bytes(); }

 private:
  struct Move {
    aio::Direction direction;
    int64_t offset;
    std::span<std::byte> memory;
    Sums sums;
    int64_t step = 0;  ///< of a write
  };
  /// A part of a move on its way.
  struct Part {
    aio::Ticket ticket;
    int64_t place = 0;  ///< in the files
    std::span<std::byte> memory = {};
  };
  /// Where bytes from `offset` on lie in the files, and how many of them in a row.
  DiskExtent place_of(int64_t offset, int64_t bytes) const {
    if (blocks_.slots == nullptr) return {offset, bytes};
    return blocks_.is_frozen ? blocks_.slots->frozen(offset, bytes)
                             : blocks_.slots->current(offset, bytes);
  }
  template <class Visit>
  void for_each_place(int64_t offset, std::span<const std::byte> memory, const Visit& visit) const;
  void move(const Move& asked);
  Part start(const Move& asked, int64_t begin);
  void finish(const Part& part, const Move& asked);

  const DiskFiles& files_;
  DiskBlocks blocks_;
  int transfers_;
  aio::Queue queue_;
  int64_t part_bytes_;
  std::vector<Part> parts_;     ///< a ring of those on their way
  std::exception_ptr failure_;  ///< the first of a move
  std::atomic<bool> is_moving_{false};
};

}  // namespace zero::tiers
