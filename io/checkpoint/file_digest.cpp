#include "io/checkpoint/file_digest.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "zero/base/crc32c.hpp"
#include "zero/base/error.hpp"
#include "zero/base/hex.hpp"

namespace zero::checkpoint {

struct FileDigest::State {
  XXH3_state_t xxh3;
};

FileDigest::FileDigest() : state_(std::make_unique<State>()) {
  ZERO_REQUIRE(XXH3_128bits_reset(&state_->xxh3) == XXH_OK, "XXH3 does not start");
}

FileDigest::~FileDigest() = default;

void FileDigest::add_block(std::span<const std::byte> block) { add_block(block, crc32c(block)); }

void FileDigest::add_block(std::span<const std::byte> block, uint32_t crc32c) {
  ZERO_REQUIRE(file_.bytes % kDigestBlockBytes == 0 && int64_t(block.size()) <= kDigestBlockBytes,
               "a block of ", block.size(), " bytes after ", file_.bytes);
  file_.crc32c.push_back(crc32c);
  ZERO_REQUIRE(XXH3_128bits_update(&state_->xxh3, block.data(), block.size()) == XXH_OK,
               "XXH3 does not go on");
  file_.bytes += int64_t(block.size());
}

File FileDigest::result(const std::string& name) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(&state_->xxh3));
  File file = file_;
  file.name = name;
  file.xxh3 = hex_of(bytes.digest);
  return file;
}

}  // namespace zero::checkpoint
