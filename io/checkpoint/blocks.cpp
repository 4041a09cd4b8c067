#include "zero/io/checkpoint/blocks.hpp"

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

BlockLedger::BlockLedger(const Manifest& manifest) : first_{0} {
  const DigestForm form = digest_form(manifest);
  for (const File& file : manifest.files) {
    first_.push_back(first_.back() + form.blocks_of(file));
  }
  has_ = std::make_unique<std::atomic<bool>[]>(size_t(blocks()));
}

void BlockLedger::note(int32_t file, int64_t block) {
  if (has_[size_t(first_[size_t(file)] + block)].exchange(true, std::memory_order_relaxed)) return;
  noted_.fetch_add(1, std::memory_order_relaxed);
}

std::vector<int32_t> BlockLedger::claims(int32_t rank) const {
  std::vector<int32_t> claims(size_t(blocks()), kNobody);
  for (size_t i = 0; i < claims.size(); ++i) {
    if (has_[i]) claims[i] = rank;
  }
  return claims;
}

std::vector<int32_t> BlockLedger::owners(std::vector<int32_t> claims, int32_t ranks) {
  const int64_t unread = std::ranges::count(claims, kNobody);
  int64_t given = 0;
  for (int32_t& owner : claims) {
    if (owner == kNobody) owner = int32_t(given++ * ranks / unread);
  }
  return claims;
}

std::vector<BlockLedger::Block> BlockLedger::missing(const std::vector<int32_t>& owners,
                                                     int32_t rank) const {
  std::vector<Block> found;
  for (size_t file = 0; file + 1 < first_.size(); ++file) {
    for (int64_t i = first_[file]; i < first_[file + 1]; ++i) {
      if (owners[size_t(i)] != rank || has_[size_t(i)]) continue;
      found.push_back({int32_t(file), i - first_[file]});
    }
  }
  return found;
}

}  // namespace zero::checkpoint
