#pragma once

#include <cstdint>

#include "zero/launch/files.hpp"

namespace zero::launch {

/// What this process has moved by now: bytes of all reads and writes, and those that the kernel has
/// fetched from disks or has to bring there for it. Rises with every byte, by no certain amount.
class MovedBytes {
 public:
  MovedBytes();
  /// Where the kernel does not say, always the same.
  int64_t count();

 private:
  OpenFile file_;
  int64_t own_ = 0;  ///< of reading the file, which counts too
};

}  // namespace zero::launch
