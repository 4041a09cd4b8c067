#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {

/// A file in memory that HDF5 writes a structure into by the descriptor. Payloads that nobody
/// writes there take no memory. Every function throws Error(kIo) naming the file and the reason.
class StructureMemory {
 public:
  /// `name`, of the file that will have this structure, is for messages.
  explicit StructureMemory(const std::string& name);

  int descriptor() const { return file_.descriptor(); }
  const std::string& name() const { return name_; }
  int64_t bytes() const;
  /// From the first byte on.
  void write(std::span<const std::byte> content) const;
  std::vector<std::byte> read(int64_t offset, int64_t bytes) const;

 private:
  std::string name_;
  OpenFile file_;
};

/// What a file holds beside its payloads, for as many files as are wanted.
class FileStructure {
 public:
  /// A payload, which the file's writer fills.
  struct Extent {
    int64_t offset, bytes;
  };
  /// Requires that HDF5 has closed the file and has laid the payloads one behind the other.
  FileStructure(const StructureMemory& memory, std::vector<Extent> extents);

  int64_t file_bytes() const { return file_bytes_; }
  const std::vector<Extent>& extents() const { return extents_; }
  /// What lies before this extent; behind the last one for the number that follows.
  std::span<const std::byte> before(size_t extent) const { return between_[extent]; }

 private:
  int64_t file_bytes_;
  std::vector<Extent> extents_;
  std::vector<std::vector<std::byte>> between_;
};

}  // namespace zero::checkpoint
