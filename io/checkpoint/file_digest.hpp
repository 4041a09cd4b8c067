#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "zero/base/xxh3.hpp"
#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {

/// Of a block of a file, or of the fewer bytes that end it.
struct BlockDigest {
  uint32_t crc32c = 0;
  Xxh3Digest xxh3 = {};
  int64_t bytes = 0;
};

/// The digests of a file from those of its blocks, from the first to the last: of each its CRC-32C,
/// of the file as in Manifest.
class FileDigest {
 public:
  explicit FileDigest(const DigestForm& form);

  /// The next bytes of the file: whole blocks, but for those that end it.
  void add(std::span<const std::byte> bytes);
  /// The next block, whose CRC-32C is known.
  void add_block(std::span<const std::byte> block, uint32_t crc32c);
  void add_block(const BlockDigest& block);  ///< where it need not be of bytes
  /// The entry of the file, which is complete.
  File result(const std::string& name);

 private:
  void enter(uint32_t crc32c, int64_t bytes);

  Xxh3 xxh3_;
  DigestForm form_;
  File file_;
};

/// Throws Error(kInput) naming `path` where the digests of the whole file differ.
void require_same_digest(const File& found, const File& expected, const std::string& path);

}  // namespace zero::checkpoint
