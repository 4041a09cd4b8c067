#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/block_writer.hpp"
#include "io/checkpoint/hdf5.hpp"
#include "io/checkpoint/payload_file.hpp"

namespace zero::checkpoint {

/// How a dataset is made that PayloadWriter fills: contiguous, there from the start, filled by
/// nobody else.
Hdf5Handle payload_layout(const Hdf5File& file);
/// Where HDF5 has put such a dataset. `path` is for messages.
int64_t payload_offset(const Hdf5File& file, const Hdf5Handle& dataset, const std::string& path);

/// Fills the datasets of a file whose structure HDF5 has written and closed. The structure is read,
/// and the file written anew from front to back: before each payload comes what HDF5 left there.
class PayloadWriter {
 public:
  struct Extent {
    int64_t offset, bytes;
  };
  /// `file` outlives it; `extents` lie one behind the other.
  PayloadWriter(PayloadFile& file, std::vector<Extent> extents);

  /// The next bytes of the next extent, which may be changed when it returns. Throws Error(kIo).
  void append(std::span<const std::byte> bytes);
  /// Everything is on the disk when it returns. Requires that all was appended. The entry for a
  /// manifest, under this name.
  File finish(const std::string& name);

 private:
  void read_structure();
  void append_structure();
  int64_t left() const;

  PayloadFile& file_;
  std::vector<Extent> extents_;
  int64_t file_bytes_;
  std::vector<std::vector<std::byte>> structure_;  ///< before each extent, and behind the last
  BlockWriter writer_;
  size_t current_ = 0;
};

}  // namespace zero::checkpoint
