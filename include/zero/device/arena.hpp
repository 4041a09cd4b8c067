#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zero/device/stream.hpp"

namespace zero {

/// Returns the bytes that the host could give out now to all its processes. -1 if unknown.
/// Source: Linux /proc/meminfo, "MemAvailable".
int64_t host_available_bytes();

/// Returns the bytes that could be given out to this process now: the host's available bytes, or
/// the limit of the process's control group if that is smaller. -1 if neither is known.
int64_t available_bytes();

/// A block of memory that is taken once and returned at the end. A rank keeps one for all that its
/// steps touch on a tier. Page-aligned, zero-filled; on the host in huge pages if the kernel has
/// any.
class Arena {
 public:
  Arena() = default;
  /// Takes exactly `bytes` of the memory of `place`. `threads` threads touch a pinned block first,
  /// because pinning makes its pages one by one. Throws Error(kDoesNotFit) with the bytes asked for
  /// and the bytes available.
  explicit Arena(int64_t bytes, Place place = Place::host, int threads = 1);
  /// Adopts `bytes` of device memory at `taken`, which is zero-filled. The destructor calls
  /// give_back(taken).
  Arena(std::byte* taken, int64_t bytes, void (*give_back)(std::byte*) noexcept);
  /// Returns a view of the bytes of `whole` from `begin` on. REQUIRES: `whole` outlives it.
  static Arena part_of(const Arena& whole, int64_t begin);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  std::byte* data() const { return base_; }
  int64_t bytes() const { return bytes_; }
  /// True if the host may read and write the block. Always true in a build for the host alone.
  bool on_host() const;

  /// Returns the bytes of this block that are resident now, to check the plan's figure. Device
  /// memory is resident as a whole. Source: Linux /proc/self/smaps, "Rss" of the block's mapping.
  int64_t resident_bytes() const;
  /// Returns the resident bytes of this block in huge pages. Source: Linux /proc/self/smaps,
  /// "AnonHugePages".
  int64_t huge_bytes() const;
  /// Touches every page of this block, if it is not pinned, by `threads` threads, so the first step
  /// has no page faults.
  void touch(int threads);

 private:
  void map(int64_t bytes);
  int64_t mapped_bytes(const char* which) const;

  std::byte* base_ = nullptr;
  void* reserved_ = nullptr;  // address space around the block, unmapped with it
  int64_t bytes_ = 0;
  bool pinned_ = false;
  void (*give_back_)(std::byte*) noexcept = nullptr;  // device memory only
};

}  // namespace zero
