#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {

/// What a disk has moved in some time, by way.
struct DiskTiming {
  struct Way {
    int64_t bytes = 0;
    double seconds = 0;
    /// Bytes a second; 0 where nothing moved.
    double rate() const { return seconds > 0 ? double(bytes) / seconds : 0; }
  };
  Way read, write;
};

/// How the host sees bytes on disk between bodies: any stretch of a buffer, through a window of
/// memory that the disk can use in place. Thread-safe.
class DiskWindow {
 public:
  /// All of it outlives the window. `disks` may be null where the plan keeps nothing on disk.
  DiskWindow(const plan::Plan& plan, const LaneDisks& disks, std::span<std::byte> window)
      : plan_(plan), disks_(disks), window_(window) {}

  /// Writes zeros to all that lasts on disk and nobody has written, as an arena begins: blocks are
  /// written once, and an op can read any of them. A second call does nothing.
  void fill();
  /// Moves bytes of buffers for about `most_seconds`, to see how fast that goes; they stay what
  /// they are. Reads all that it comes to; writes back what it has read where `writes`, and what
  /// nobody has written.
  DiskTiming try_out(double most_seconds, bool writes);
  /// Writes what lasts on disk once more, as it is: after fill().
  void rewrite();
  /// What nobody has written is read as zeros.
  void read(int32_t buffer, int64_t offset, std::span<std::byte> out);
  void write(int32_t buffer, int64_t offset, std::span<const std::byte> in);

 private:
  /// A stretch of a buffer in whole blocks, and the part of it that was asked for.
  struct View {
    int64_t place;  ///< on disk
    std::span<std::byte> blocks;
    std::span<std::byte> part;
  };
  View view(int32_t buffer, int64_t offset, size_t bytes) const;
  /// The stretch of `bytes` from `place` on, at most, of which all is written or nothing is.
  struct Stretch {
    size_t bytes;
    bool written;
  };
  Stretch stretch_at(int64_t place, size_t bytes) const;
  void try_out(int64_t place, std::span<std::byte> blocks, bool writes, DiskTiming& trial);
  void load(int64_t place, std::span<std::byte> blocks) const;
  void load_edges(const View& seen) const;

  const plan::Plan& plan_;
  LaneDisks disks_;
  std::span<std::byte> window_;
  bool filled_ = false;
  std::mutex mutex_;
};

}  // namespace zero::run
