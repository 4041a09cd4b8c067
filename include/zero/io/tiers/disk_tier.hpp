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
#include "zero/io/files/open_file.hpp"

namespace zero::tiers {

/// A range of bytes on disk. Both numbers are multiples of kDiskBlockBytes.
struct DiskExtent {
  int64_t offset = 0, bytes = 0;
};

/// A table of the slot that each disk block is in. A block in some extents has two: its own place,
/// and another after all other bytes. While a save reads the blocks of a freeze(), the first write
/// to a block goes to its other slot and nothing is copied. So a save beside training takes two
/// slots and no memory. Other blocks have one slot, their place.
///
/// REQUIRES: nobody writes during freeze() and thaw(). Two lanes may use the rest at once if they
/// never share a block. Any thread may call frozen() beside them.
class SlotTable {
 public:
  /// Makes a table without second slots.
  SlotTable() = default;
  /// Makes a table of ascending, disjoint extents. Their second slots follow each other from
  /// `second` on, a multiple of kDiskBlockBytes.
  SlotTable(std::span<const DiskExtent> extents, int64_t second);

  /// Returns the bytes of the second slots of all blocks in `extents`.
  static int64_t bytes_for(std::span<const DiskExtent> extents);

  /// True if no block has a second slot.
  bool empty() const { return ranges_.empty(); }

  /// Keeps the present content of every block on disk until thaw().
  void freeze();
  void thaw() { is_frozen_ = false; }

  /// Announces a write to the whole blocks of `bytes` bytes from `offset` on. While frozen, the
  /// first write moves a block to its other slot.
  void claim(int64_t offset, int64_t bytes);

  /// Returns the place of the bytes from `offset` on and how many lie in a row, at most `bytes`.
  /// current() finds those written last, frozen() those of the last freeze().
  DiskExtent current(int64_t offset, int64_t bytes) const { return find(offset, bytes, is_second); }
  DiskExtent frozen(int64_t offset, int64_t bytes) const { return find(offset, bytes, was_second); }

 private:
  struct Range {
    int64_t begin, end;
    int64_t second;  ///< second slot of its first byte
  };
  /// Bits of a block's state: it is in the second slot; it has moved since the last freeze.
  static constexpr uint8_t kSecond = 1, kMoved = 2;
  static bool is_second(uint8_t state) { return (state & kSecond) != 0; }
  static bool was_second(uint8_t state) { return state == kSecond || state == kMoved; }

  /// Returns the first range that ends after `offset`, or the end.
  std::vector<Range>::const_iterator range_at(int64_t offset) const;
  DiskExtent find(int64_t offset, int64_t bytes, bool (*in_second)(uint8_t)) const;
  std::atomic<uint8_t>& state_at(int64_t offset) const;

  std::vector<Range> ranges_;
  std::unique_ptr<std::atomic<uint8_t>[]> states_;  ///< [blocks up to the end of the last range]
  bool is_frozen_ = false;
};

/// Bytes of a checked block on disk, and the alignment of buffers there.
inline constexpr int64_t kDiskBlockBytes = int64_t(64) << 10;
/// Least bytes of a stripe. With several folders, neighbouring stripes lie in different ones.
inline constexpr int64_t kStripeBytes = int64_t(1) << 20;

struct DiskOptions {
  std::vector<std::string> folders = {};  ///< nvme_path; each must exist
  int64_t bytes = 0;                      ///< bytes of this rank
  /// aio.block_size. With several folders, a stripe is at least as long.
  int64_t block_bytes = kStripeBytes;
};

/// Returns the count of free bytes that files striped over these folders can take in all.
int64_t free_bytes(const std::vector<std::string>& folders);

/// A rank's bytes on disk: one nameless file in each folder. No other job can see or replace it,
/// and it is gone when the process ends in any way. All bytes are allocated at once, so a disk that
/// is too small is found at the start. Transfers bypass the page cache where the file system can.
class DiskFiles {
 public:
  /// Makes and allocates the files. Throws Error(kUsage) for a folder that is "" or missing;
  /// Error(kIo) with the bytes needed and free, or with folder and reason.
  explicit DiskFiles(const DiskOptions& options);
  DiskFiles(const DiskFiles&) = delete;
  DiskFiles& operator=(const DiskFiles&) = delete;

  int64_t bytes() const { return bytes_; }
  /// Returns the required alignment, in bytes, of memory addresses and lengths. The strictest
  /// folder decides, because a transfer crosses stripes of all folders.
  int64_t align_bytes() const { return direct_files_ > 0 ? 4096 : 1; }
  /// True if every byte is allocated. False if a file system allocates only on writing.
  bool is_reserved() const { return is_reserved_; }
  /// True if transfers bypass the page cache in every folder.
  bool direct() const { return direct_files_ == files_.size(); }

  struct FileRange {
    const aio::File* file;
    int64_t offset;  ///< offset in the file
    int64_t bytes;
  };
  /// Returns the stretch of one file that holds the rank's bytes from `offset` on, as many as lie
  /// in a row, at most `bytes`.
  FileRange range_at(int64_t offset, int64_t bytes) const;

 private:
  void open_in(const std::string& folder, int64_t bytes);

  int64_t bytes_;
  int64_t stripe_bytes_;
  size_t direct_files_ = 0;
  bool is_reserved_ = true;
  std::vector<OpenFile> open_;
  std::vector<aio::File> files_;  ///< the files of open_, named by their folders
};

/// A table of the last write to each disk block, in both slots if it has two: the XXH3-128 and the
/// step. It is in memory, so an old, foreign or half-written block on disk is detected. Two lanes
/// may use it at once if they never share a block, as the plan proves.
class BlockTable {
 public:
  /// Makes a table of the blocks of `bytes` bytes on disk, none of them written.
  explicit BlockTable(int64_t bytes);

  /// Notes `memory` as about to be written in `step` at `offset`, a multiple of kDiskBlockBytes.
  /// The last block of a buffer may be shorter.
  void note(int64_t offset, std::span<const std::byte> memory, int64_t step);

  /// True if the block at `offset` was ever noted.
  bool is_written(int64_t offset) const {
    return entries_[size_t(offset / kDiskBlockBytes)].bytes > 0;
  }

  /// Checks `memory`, read from `offset` in `files`. Throws Error(kIo) naming folder, offset and
  /// step of the first block that differs from its note.
  void check(int64_t offset, std::span<const std::byte> memory, const DiskFiles& files) const;

 private:
  struct Entry {
    Xxh3Digest xxh3 = {};
    uint32_t bytes = 0;  ///< 0 if never written
    int64_t step = 0;
  };
  std::vector<Entry> entries_;
};

/// The party that computes checksums: the lane while it moves other bytes, or their user by check()
/// and note(), while they are in its cache.
enum class Sums { here, by_user };

/// The blocks that a tier reaches: as last written, or read-only as the last SlotTable::freeze()
/// found them.
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

/// A rank's disk, as one lane uses it. One thread uses it at a time, except check() and note().
/// Several lanes share files and table.
class DiskTier {
 public:
  /// Makes a tier that moves `blocks`, which lie in `files`, by `engine`. Raises
  /// `options.transfers` to keep the engine busy. REQUIRES: `files` and the tables of `blocks`
  /// outlive the tier.
  DiskTier(const DiskFiles& files, const DiskBlocks& blocks, std::unique_ptr<aio::Engine> engine,
           const aio::QueueOptions& options);

  /// Registers `memory` as aio::Engine::register_memory(), and returns its answer. REQUIRES: no
  /// move is under way.
  std::string register_memory(std::span<std::byte> memory) {
    return queue_.register_memory(memory);
  }

  /// Writes `memory` to the rank's bytes from `offset` on, in `step`, or reads it from there. Done
  /// on return. `sums` names the party that computes checksums. REQUIRES: `offset` is a multiple of
  /// kDiskBlockBytes, `memory` of files.align_bytes(). Throws Error(kIo) with file, offset, length
  /// and reason. read() also throws if bytes are not those written last, unless the user checks
  /// them.
  void write(int64_t offset, std::span<std::byte> memory, int64_t step, Sums sums = Sums::here);
  void read(int64_t offset, std::span<std::byte> memory, Sums sums = Sums::here);

  /// Checks or notes whole blocks, `memory` at `offset`, for the user of the bytes, on any thread.
  /// REQUIRES: nobody else uses these blocks. check() comes after the read, before the bytes
  /// change, and throws as read(). note() comes after the change, before the write.
  void check(int64_t offset, std::span<const std::byte> memory) const;
  void note(int64_t offset, std::span<const std::byte> memory, int64_t step) const;

  /// True if the block that begins at `offset` was ever written. Only then can it be read.
  bool is_written(int64_t offset) const {
    return blocks_.table->is_written(place_of(offset, kDiskBlockBytes).offset);
  }

  const aio::QueueTraffic& traffic() const { return queue_.traffic(); }
  /// True if a read() or write() is under way. moved_bytes() counts the bytes of all of them, block
  /// by block. Callable from any thread at any time.
  bool is_moving() const { return is_moving_.load(std::memory_order_relaxed); }
  int64_t moved_bytes() const { return queue_.moved_bytes(); }

 private:
  struct Move {
    aio::Direction direction;
    int64_t offset;
    std::span<std::byte> memory;
    Sums sums;
    int64_t step = 0;  ///< step of a write
  };
  /// A part of a move in flight.
  struct Part {
    aio::Ticket ticket;
    int64_t place = 0;  ///< offset in the files
    std::span<std::byte> memory = {};
  };
  /// Returns the place in the files of the bytes from `offset` on, and how many lie in a row.
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
  std::vector<Part> parts_;     ///< a ring of parts in flight
  std::exception_ptr failure_;  ///< first error of a move
  std::atomic<bool> is_moving_{false};
};

}  // namespace zero::tiers
