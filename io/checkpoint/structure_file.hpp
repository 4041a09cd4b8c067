#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {

/// A new file (O_EXCL) in an open folder, for its owner alone unless `mode` says more, that HDF5
/// writes its structure into by the descriptor. Every function throws Error(kIo) naming file and
/// reason.
class StructureFile {
 public:
  StructureFile(int folder, const std::string& name, int mode = 0600);

  int descriptor() const { return file_.descriptor(); }
  /// For messages: the folder as the system knows it, and the name.
  const std::string& path() const { return path_; }
  int64_t bytes() const;
  void read(int64_t offset, std::span<std::byte> out) const;
  /// Once; what a failed fsync has lost no second one brings back.
  void sync();

 private:
  std::string path_;
  OpenFile file_;
};

}  // namespace zero::checkpoint
