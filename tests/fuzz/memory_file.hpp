#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <string>

#include "zero/base/error.hpp"

namespace zero {

/// A file in memory, with a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const uint8_t> bytes) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    ZERO_REQUIRE(write(file_, bytes.data(), bytes.size()) == ssize_t(bytes.size()), "no memory");
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return text("/proc/self/fd/", file_); }

 private:
  int file_;
};

}  // namespace zero
