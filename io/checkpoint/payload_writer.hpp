#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/checkpoint/block_writer.hpp"
#include "io/checkpoint/file_structure.hpp"
#include "io/checkpoint/payload_file.hpp"

namespace zero::checkpoint {

/// Writes a file from front to back: payloads, and between them what HDF5 has put there.
class PayloadWriter {
 public:
  /// `file` and `staging`, of kStagingBytes, outlive it.
  PayloadWriter(PayloadFile& file, std::shared_ptr<const FileStructure> structure,
                std::span<std::byte> staging, const DigestForm& digests);

  /// The next bytes of the next extent, which may be changed when it returns. Throws Error(kIo).
  void append(std::span<const std::byte> bytes);
  /// The same of bytes that stay as they are until finish() has returned or this is gone.
  void append_resting(std::span<const std::byte> bytes);
  /// Everything is on the disk when it returns. Requires that all was appended. The entry for a
  /// manifest, under this name.
  File finish(const std::string& name);

 private:
  template <class Append>
  void append_to_extents(std::span<const std::byte> bytes, const Append& append);
  void append_structure();
  int64_t left() const;

  PayloadFile& file_;
  std::shared_ptr<const FileStructure> structure_;
  BlockWriter writer_;
  size_t current_ = 0;
};

}  // namespace zero::checkpoint
