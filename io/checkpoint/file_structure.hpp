#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "zero/io/files/input_file.hpp"

namespace zero::checkpoint {

/// The bytes of an HDF5 file beside its payloads, for any number of files.
class FileStructure {
 public:
  /// The place of a payload in bytes. The file's writer fills it.
  struct Extent {
    int64_t offset, bytes;
  };
  /// Reads the structure from a file without payloads. REQUIRES: extents ascend and do not overlap.
  FileStructure(const InputFile& file, std::vector<Extent> extents);

  int64_t file_bytes() const { return file_bytes_; }
  const std::vector<Extent>& extents() const { return extents_; }
  /// Returns the bytes before this extent; for the number after the last, the bytes after it.
  std::span<const std::byte> before(size_t extent) const { return between_[extent]; }

 private:
  int64_t file_bytes_;
  std::vector<Extent> extents_;
  std::vector<std::vector<std::byte>> between_;
};

}  // namespace zero::checkpoint
