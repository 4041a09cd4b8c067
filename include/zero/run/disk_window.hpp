#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {

/// The bytes and seconds of a disk's transfers, by direction.
struct DiskTiming {
  struct Way {
    int64_t bytes = 0;
    double seconds = 0;
    /// Returns the bytes per second in this direction, 0 if nothing moved.
    double rate() const { return seconds > 0 ? double(bytes) / seconds : 0; }
  };
  Way read, write;
};

/// A window of memory through which the host reads and writes any stretch of a buffer on disk,
/// between bodies. The disk uses the window in place. Thread-safe.
class DiskWindow {
 public:
  /// Makes a window over the buffers of `plan` on `disks`, in the memory `window`. REQUIRES: all
  /// arguments outlive the window. `disks` may be null if the plan keeps nothing on disk.
  DiskWindow(const plan::Plan& plan, const LaneDisks& disks, std::span<std::byte> window)
      : plan_(plan), disks_(disks), window_(window) {}

  /// Writes zeros to all blocks of persistent buffers on disk that nobody has written, because an
  /// op may read any block. A second call does nothing.
  void fill();
  /// Moves bytes of buffers on disk for about `most_seconds` and returns their timing. Reads all
  /// blocks that it reaches. Writes blocks that nobody has written and, if `writes`, those that it
  /// has read. No content changes.
  DiskTiming try_out(double most_seconds, bool writes);
  /// Reads all blocks of persistent buffers on disk and writes them once more, unchanged. REQUIRES:
  /// fill() was called.
  void rewrite();
  /// Fills `out` with the bytes of a buffer on disk from `offset` on. Bytes that nobody has written
  /// are zeros. Complete on return.
  void read(int32_t buffer, int64_t offset, std::span<std::byte> out);
  /// Writes `in` to a buffer on disk from `offset` on. Complete on return.
  void write(int32_t buffer, int64_t offset, std::span<const std::byte> in);

 private:
  /// A stretch of a buffer in whole blocks, and the requested part of it.
  struct View {
    int64_t place;  ///< offset on disk
    std::span<std::byte> blocks;
    std::span<std::byte> part;
  };
  View view(int32_t buffer, int64_t offset, size_t bytes) const;
  /// A stretch of at most `bytes` from `place` on. Either all of it is written or nothing.
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
