#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {

/// Memory that a host thread keeps between calls of a vendor file; it grows and never shrinks.
class HostBuffer {
 public:
  /// At least `bytes`, page-aligned; what was there before is lost when it grows.
  std::byte* reserve(size_t bytes) {
    if (bytes > bytes_) {
      const size_t rounded = round_up(bytes, kPageBytes);
      memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, rounded)));
      if (!memory_) refuse(Exit::kDoesNotFit, "no memory for ", rounded, " bytes of scratch");
      bytes_ = rounded;
    }
    return memory_.get();
  }

 private:
  static constexpr size_t kPageBytes = 4096;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t bytes_ = 0;
};

}  // namespace zero::kernels
