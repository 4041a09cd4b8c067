#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "zero/base/digests.hpp"
#include "zero/io/aio/queue.hpp"
#include "zero/io/files/files.hpp"

namespace zero::tiers {

/// Bytes of a disk; both numbers are multiples of kDiskBlockBytes.
struct DiskExtent {
  int64_t offset = 0, bytes = 0;
};

/// Which of its two slots each block of some extents of a disk is in: its own place, and one after
/// all other bytes. While a save reads what a freeze() has found, the first write to a block goes
/// to its other slot, which nobody copies anything to: so two slots and no memory are all that a
/// save beside training takes. Blocks outside of the extents have one slot, their place.
///
/// freeze() and thaw() are called while nobody writes. Two lanes may use the rest at a time if they
/// never meet in a block, and frozen() beside them any other thread.
class SlotTable {
 public:
  /// For a disk on which nothing has two slots.
  SlotTable() = default;
  /// The extents ascend and do not meet; their second slots lie one after the other from `second`
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
  /// A block is in the second slot; it has gone there or back since the last freeze.
  static constexpr uint8_t kSecond = 1, kMoved = 2;
  static bool is_second(uint8_t state) { return (state & kSecond) != 0; }
  static bool was_second(uint8_t state) { return state == kSecond || state == kMoved; }

  /// The range that ends after `offset`, or the end.
  std::vector<Range>::const_iterator range_at(int64_t offset) const;
  DiskExtent find(int64_t offset, int64_t bytes, bool (*in_second)(uint8_t)) const;
  std::atomic<uint8_t>& state_at(int64_t offset) const;

  std::vector<Range> ranges_;
  std::unique_ptr<std::atomic<uint8_t>[]> states_;  ///< [blocks up to the end of the last range]
  bool is_frozen_ = false;
};

/// Buffers on disk begin at multiples of this, and their bytes are checked in blocks of it.
inline constexpr int64_t kDiskBlockBytes = int64_t(64) << 10;
/// With several folders, neighbouring stretches of this length at least lie in different ones.
inline constexpr int64_t kStripeBytes = int64_t(1) << 20;

struct DiskOptions {
  std::vector<std::string> folders = {};  ///< nvme_path; each must exist
  int64_t bytes = 0;                      ///< of this rank
  /// aio.block_size: with several folders, a longer one than kStripeBytes makes stripes as long.
  int64_t block_bytes = kStripeBytes;
};

/// What files striped over these folders can take in all.
int64_t free_bytes(const std::vector<std::string>& folders);

/// A rank's bytes on disk: in each folder one file without a name, which no other job can see,
/// plant or meet and which is gone when the process is, however it ends. All bytes are allocated at
/// once, so a disk that is too small is found at the start. The page cache is passed by where the
/// file system can.
class DiskFiles {
 public:
  /// Throws Error(kUsage) for a folder that is "" or missing, Error(kIo) with the bytes needed and
  /// free, or with folder and reason.
  explicit DiskFiles(const DiskOptions& options);
  DiskFiles(const DiskFiles&) = delete;
  DiskFiles& operator=(const DiskFiles&) = delete;

  int64_t bytes() const { return bytes_; }
  /// Memory that is moved must begin at, and be a multiple of, so many bytes: what the strictest
  /// folder wants, since stripes of all of them follow each other.
  int64_t align_bytes() const { return direct_files_ > 0 ? 4096 : 1; }
  /// Whether every byte has its room; else, where a file system gives none ahead, it is taken by
  /// writing.
  bool is_reserved() const { return is_reserved_; }
  /// Whether the page cache is passed by in every folder.
  bool direct() const { return direct_files_ == files_.size(); }

  struct FileRange {
    const aio::File* file;
    int64_t offset;  ///< in the file
    int64_t bytes;
  };
  /// The longest stretch of one file that bytes from `offset` on lie in, at most `bytes` of them.
  FileRange range_at(int64_t offset, int64_t bytes) const;

 private:
  void open_in(const std::string& folder, int64_t bytes);

  int64_t bytes_;
  int64_t stripe_bytes_;
  size_t direct_files_ = 0;
  bool is_reserved_ = true;
  std::vector<OpenFile> open_;
  std::vector<aio::File> files_;  ///< the same, with their folders for names
};

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

/// Says who computes the checksums of what is moved: the lane that moves it, while other bytes
/// move, or whoever uses the bytes while they are in its cache, by check() and note().
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
  /// `options.transfers` is raised to what keeps the engine's depth busy. What `blocks` is of
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

  /// The user of bytes calls these for whole blocks, on any thread, as long as nobody else has to
  /// do with these blocks. check() comes after the read and before they change, and throws as
  /// read() does. note() comes when they have changed, before the write.
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
