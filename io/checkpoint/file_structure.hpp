#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "zero/io/files/files.hpp"

namespace zero::checkpoint {

/// What an HDF5 file holds beside its payloads, for as many files as are wanted.
class FileStructure {
 public:
  /// A payload, which the file's writer fills.
  struct Extent {
    int64_t offset, bytes;
  };
  /// Reads it from a file without payloads. Requires that they lie one after the other.
  FileStructure(const InputFile& file, std::vector<Extent> extents);

  int64_t file_bytes() const { return file_bytes_; }
  const std::vector<Extent>& extents() const { return extents_; }
  /// What lies before this extent; for the number that follows the last one, what lies after it.
  std::span<const std::byte> before(size_t extent) const { return between_[extent]; }

 private:
  int64_t file_bytes_;
  std::vector<Extent> extents_;
  std::vector<std::vector<std::byte>> between_;
};

}  // namespace zero::checkpoint
