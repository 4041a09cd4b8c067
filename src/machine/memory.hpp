#pragma once

#include <cstdint>

#include "zero/device/arena.hpp"

namespace zero::machine {

/// How fast the threads of a rank reach memory together, over arrays that no cache holds.
class MemoryRates {
 public:
  static constexpr int64_t kNumel = int64_t(2)
                                    << 20;  ///< doubles of each array of a thread: 16 MiB

  /// Throws Error(kDoesNotFit) where three such arrays for each thread are not to be had.
  explicit MemoryRates(int threads);

  /// Bytes a second that are read and written by a = b + 3 c, done again and again for `seconds`;
  /// the line that a store first reads is not counted. Source: STREAM's triad (McCalpin 1995).
  double triad(double seconds);

  /// The memory that it was measured on.
  const Arena& arena() const { return arena_; }

 private:
  int threads_;
  Arena arena_;
};

}  // namespace zero::machine
