#include "zero/io/checkpoint/block_ledger.hpp"

#include <algorithm>
#include <cstring>

#include "io/checkpoint/file_digest.hpp"
#include "zero/base/error.hpp"

namespace zero::checkpoint {
BlockLedger::BlockLedger(const Manifest& manifest)
    : manifest_(manifest), form_(digest_form(manifest)), first_{0} {
  for (const File& file : manifest.files) {
    first_.push_back(first_.back() + int64_t(file.crc32c.size()));
  }
  digests_.resize(size_t(first_.back()));
  states_ = std::make_unique<std::atomic<uint8_t>[]>(digests_.size());
}

void BlockLedger::note(int32_t file, int64_t block, const Digest& digest) {
  note(number(file, block), digest);
}

void BlockLedger::note(int64_t number, const Digest& digest) {
  std::atomic<uint8_t>& state = states_[size_t(number)];
  uint8_t expected = kUnknown;
  if (!state.compare_exchange_strong(expected, kTaken)) return;
  digests_[size_t(number)] = digest;
  state.store(kNoted, std::memory_order_release);
  noted_.fetch_add(1, std::memory_order_relaxed);
}

std::vector<int32_t> BlockLedger::claims(int32_t rank) const {
  std::vector<int32_t> claims(digests_.size(), kNobody);
  for (size_t i = 0; i < claims.size(); ++i) {
    if (has(int64_t(i))) claims[i] = rank;
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
  for (int32_t file = 0; file < int32_t(manifest_.files.size()); ++file) {
    for (int64_t i = first_[size_t(file)]; i < first_[size_t(file) + 1]; ++i) {
      if (owners[size_t(i)] == rank && !has(i)) found.push_back({file, i - first_[size_t(file)]});
    }
  }
  return found;
}

std::string BlockLedger::digests(const std::vector<int32_t>& owners, int32_t rank,
                                 int32_t file) const {
  std::string text;
  for (int64_t i = first_[size_t(file)]; i < first_[size_t(file) + 1]; ++i) {
    if (owners[size_t(i)] != rank) continue;
    ZERO_REQUIRE(has(i), "block ", i, " was not read");
    text.append(reinterpret_cast<const char*>(digests_[size_t(i)].data()), sizeof(Digest));
  }
  return text;
}

size_t BlockLedger::take(const std::vector<int32_t>& owners, int32_t rank, int32_t file,
                         std::string_view digests) {
  size_t at = 0;
  for (int64_t i = first_[size_t(file)]; i < first_[size_t(file) + 1]; ++i) {
    if (owners[size_t(i)] != rank) continue;
    ZERO_REQUIRE(at + sizeof(Digest) <= digests.size(), "rank ", rank, " told too few digests");
    Digest digest;
    std::memcpy(digest.data(), digests.data() + at, sizeof(Digest));
    note(i, digest);
    at += sizeof(Digest);
  }
  return at;
}

void BlockLedger::require_digest(int32_t file, const std::string& folder) const {
  const File& expected = manifest_.files[size_t(file)];
  FileDigest whole(form_);
  for (size_t block = 0; block < expected.crc32c.size(); ++block) {
    const int64_t i = number(file, int64_t(block));
    ZERO_REQUIRE(has(i), expected.name, ": block ", block, " was not read");
    const int64_t rest = expected.bytes - int64_t(block) * form_.block_bytes;
    whole.add_block({.crc32c = expected.crc32c[block],
                     .xxh3 = digests_[size_t(i)],
                     .bytes = std::min(form_.block_bytes, rest)});
  }
  require_same_digest(whole.result(expected.name), expected, folder + "/" + expected.name);
}

}  // namespace zero::checkpoint
