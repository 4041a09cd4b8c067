#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zero/device/stream.hpp"

namespace zero {

/// Returns the bytes that could be given out to this process now: what the kernel says of this
/// host, or the limit of the process's control group if that is less. -1 if neither is known.
/// Source: Linux /proc/meminfo, "MemAvailable".
int64_t available_bytes();

/// One block of memory, taken once and never returned before the end: all that a step touches on
/// one tier. Page-aligned, zero-filled; on the host in huge pages where the kernel gives them.
class Arena {
 public:
  Arena() = default;
  /// Exactly `bytes`; `threads` touch what is pinned, which by itself would make its pages one by
  /// one. Throws Error(kDoesNotFit) with the bytes asked for and the bytes available.
  explicit Arena(int64_t bytes, Place place = Place::host, int threads = 1);
  /// Device memory that somebody else took, zero-filled; `give_back` ends it.
  Arena(std::byte* taken, int64_t bytes, void (*give_back)(std::byte*) noexcept);
  /// The bytes of another block from `begin` on, as they are; that block outlives this one.
  static Arena part_of(const Arena& whole, int64_t begin);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  std::byte* data() const { return base_; }
  int64_t bytes() const { return bytes_; }
  /// True if the host may read and write it: all of it in a build for the host alone.
  bool on_host() const;

  /// Bytes that the kernel says are resident in this block now: what the plan's figure is checked
  /// against. Source: Linux /proc/self/smaps, "Rss" of the block's own mapping.
  /// Device memory is resident as a whole.
  int64_t resident_bytes() const;
  /// The resident bytes in huge pages: "AnonHugePages".
  int64_t huge_bytes() const;
  /// Touches every page that is not pinned, so that the first step pays for no page fault.
  void touch(int threads);

 private:
  void map(int64_t bytes);
  int64_t mapped_bytes(const char* which) const;

  std::byte* base_ = nullptr;
  void* reserved_ = nullptr;  // address space around the block, given back with it
  int64_t bytes_ = 0;
  bool pinned_ = false;
  void (*give_back_)(std::byte*) noexcept = nullptr;  // of device memory alone
};

}  // namespace zero
