#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "zero/io/aio/queue.hpp"
#include "zero/io/tiers/disk_files.hpp"

namespace zero::tiers {

/// What was last written to each block of the disk tier: its CRC-32C and the step that wrote it.
/// Held in memory, so no disk can answer with an old block, another's, or half a one. Two lanes may
/// use it at a time if they never meet in a block, as the plan proves.
class BlockTable {
 public:
  explicit BlockTable(int64_t bytes);

  /// `memory` is about to be written at `offset`, a multiple of kDiskBlockBytes; the last block of
  /// a buffer may be shorter.
  void note(int64_t offset, std::span<const std::byte> memory, int64_t step);

  /// Throws Error(kIo) naming folder, offset and step of the first block that is not what was
  /// noted.
  void check(int64_t offset, std::span<const std::byte> memory, const DiskFiles& files) const;

 private:
  struct Entry {
    uint32_t crc = 0;
    uint32_t bytes = 0;  ///< 0: never written
    int64_t step = 0;
  };
  std::vector<Entry> entries_;
};

/// The disk of a rank, as one lane uses it. Used by one thread at a time; several lanes share files
/// and table.
class DiskTier {
 public:
  DiskTier(const DiskFiles& files, BlockTable& table, std::unique_ptr<aio::Engine> engine,
           const aio::QueueOptions& options);

  /// Done when they return. `offset` is a multiple of kDiskBlockBytes, `memory` of
  /// files.align_bytes(). Throw Error(kIo) with file, offset, length and reason; read() also for
  /// bytes that are not those written last.
  void write(int64_t offset, std::span<std::byte> memory, int64_t step);
  void read(int64_t offset, std::span<std::byte> memory);

  const aio::QueueTraffic& traffic() const { return queue_.traffic(); }

 private:
  void move(aio::Direction direction, int64_t offset, std::span<std::byte> memory);

  const DiskFiles& files_;
  BlockTable& table_;
  aio::Queue queue_;
  std::vector<aio::Ticket> tickets_;  ///< a ring of those in flight
};

}  // namespace zero::tiers
