#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {

/// The digests of a file from its bytes, from the first to the last.
class FileDigest {
 public:
  FileDigest();
  ~FileDigest();

  /// The next kDigestBlockBytes, or the fewer that end the file.
  void add_block(std::span<const std::byte> block);
  /// The same where its CRC-32C is known.
  void add_block(std::span<const std::byte> block, uint32_t crc32c);
  /// The entry of the file, which is complete.
  File result(const std::string& name);

 private:
  struct State;
  std::unique_ptr<State> state_;
  File file_;
};

}  // namespace zero::checkpoint
