#include "io/checkpoint/block_digest.hpp"

#include <algorithm>
#include <cstdio>

#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::checkpoint {

std::string digest_of(std::span<const std::byte> block, const DigestForm& form) {
  if (!form.is_crc32c) return hex_of(xxh3_of(block));
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", crc32c(block));
  return digits;
}

void add_blocks(std::span<const std::byte> bytes, const DigestForm& form, File& file) {
  ZERO_REQUIRE(file.bytes % form.block_bytes == 0, bytes.size(), " bytes after ", file.bytes,
               ", which are no whole blocks");
  file.bytes += int64_t(bytes.size());
  while (!bytes.empty()) {
    const auto block = bytes.first(std::min(bytes.size(), size_t(form.block_bytes)));
    file.digests += digest_of(block, form);
    bytes = bytes.subspan(block.size());
  }
}

}  // namespace zero::checkpoint
