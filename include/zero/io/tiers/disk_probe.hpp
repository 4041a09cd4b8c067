#pragma once

#include <cstdint>
#include <string>

#include "zero/device/arena.hpp"
#include "zero/io/aio/queue.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::tiers {

/// Keys of [aio] that make a disk faster or slower.
struct DiskSetting {
  int64_t block_bytes = int64_t(1) << 20;  ///< aio.block_size
  int depth = 8;                           ///< aio.queue_depth
  bool uring = true;                       ///< false: the fallback, pread and pwrite
  int threads = 1;                         ///< of the fallback: aio.intra_op_parallelism
};

/// How fast a folder's disk is, by the files and the queue that a run would use: what it reads was
/// written before, and passes the page cache by where a run's bytes would. Leaves no file.
class DiskProbe {
 public:
  static constexpr int64_t kBytes = int64_t(256) << 20;
  static constexpr double kFillSeconds = 2;

  /// Makes a file of kBytes in `folder` and writes as much of it as kFillSeconds allow. Throws as
  /// DiskFiles does, and Error(kIo) for a disk that fails.
  explicit DiskProbe(const std::string& folder);

  /// Bytes a second over the file, once or for `most_seconds`, whichever is less. Throws
  /// Error(kUsage) where io_uring is asked for and not to be had, Error(kIo) for a disk that fails.
  double bytes_per_second(const DiskSetting& setting, aio::Pattern pattern, double most_seconds);

  bool direct() const { return files_.direct(); }
  /// So far, by this object: what a disk's endurance has paid.
  int64_t bytes_written() const { return bytes_written_; }

 private:
  aio::Swept run(const DiskSetting& setting, const aio::Sweep& part);

  DiskFiles files_;
  Arena memory_;
  int64_t region_bytes_ = kBytes;  ///< of the file; what has been written of it
  int64_t bytes_written_ = 0;
};

}  // namespace zero::tiers
