#pragma once

#include <cstdint>
#include <string>

#include "zero/device/arena.hpp"
#include "zero/io/aio/queue.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::tiers {

/// The keys of [aio] that change a disk's speed.
struct DiskSetting {
  int64_t block_bytes = int64_t(1) << 20;  ///< bytes of a block: aio.block_size
  int depth = 8;                           ///< blocks in flight: aio.queue_depth
  bool uring = true;                       ///< false: pread and pwrite by threads
  int threads = 1;                         ///< threads without io_uring: aio.intra_op_parallelism
};

/// A speed test of a folder's disk with the files and the queue of a run. It reads what it wrote,
/// past the page cache where a run would. Leaves no file.
class DiskProbe {
 public:
  static constexpr int64_t kBytes = int64_t(256) << 20;
  static constexpr double kFillSeconds = 2;

  /// Makes a file of kBytes in `folder` and writes as much as kFillSeconds allow. Throws as
  /// DiskFiles, and Error(kIo) if the disk fails.
  explicit DiskProbe(const std::string& folder);

  /// Measures transfers of `pattern` with the queue of `setting`, over the file once or for
  /// `most_seconds`, whichever is less. Returns bytes per second. Throws Error(kUsage) if io_uring
  /// is asked for but missing, Error(kIo) if the disk fails.
  double bytes_per_second(const DiskSetting& setting, aio::Pattern pattern, double most_seconds);

  /// True if transfers bypass the page cache.
  bool direct() const { return files_.direct(); }
  /// Returns the count of bytes that this object has written, which wear the disk.
  int64_t bytes_written() const { return bytes_written_; }

 private:
  aio::Swept run(const DiskSetting& setting, const aio::Sweep& part);

  DiskFiles files_;
  Arena memory_;
  int64_t region_bytes_ = kBytes;  ///< written bytes of the file
  int64_t bytes_written_ = 0;
};

}  // namespace zero::tiers
