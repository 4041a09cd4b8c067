#include "io/checkpoint/file_digest.hpp"

#include <algorithm>

#include "zero/base/crc32c.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::checkpoint {

FileDigest::FileDigest(const DigestForm& form) : form_(form) {}

void FileDigest::add_block(const BlockDigest& block) {
  ZERO_REQUIRE(!form_.file_is_of_bytes, "the digest of the file is of its bytes");
  enter(block.crc32c, block.bytes);
  xxh3_.add(std::as_bytes(std::span(block.xxh3)));
}

void FileDigest::add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto block = bytes.first(std::min(bytes.size(), size_t(form_.block_bytes)));
    add_block(block, crc32c(block));
    bytes = bytes.subspan(block.size());
  }
}

void FileDigest::add_block(std::span<const std::byte> block, uint32_t crc32c) {
  const int64_t bytes = int64_t(block.size());
  if (!form_.file_is_of_bytes) {
    return add_block({.crc32c = crc32c, .xxh3 = xxh3_of(block), .bytes = bytes});
  }
  enter(crc32c, bytes);
  xxh3_.add(block);
}

void FileDigest::enter(uint32_t crc32c, int64_t bytes) {
  ZERO_REQUIRE(file_.bytes % form_.block_bytes == 0 && bytes <= form_.block_bytes, "a block of ",
               bytes, " bytes after ", file_.bytes);
  file_.crc32c.push_back(crc32c);
  file_.bytes += bytes;
}

File FileDigest::result(const std::string& name) {
  File file = file_;
  file.name = name;
  file.xxh3 = hex_of(xxh3_.digest());
  return file;
}

void require_same_digest(const File& found, const File& expected, const std::string& path) {
  if (found.xxh3 == expected.xxh3) return;
  refuse(Exit::kInput, path,
         ": its XXH3 is not the manifest's, though each block's CRC32C is: the file is damaged");
}

}  // namespace zero::checkpoint
