#include "zero/io/checkpoint/block_ledger.hpp"

#include <algorithm>
#include <cstring>

#include "io/checkpoint/file_digest.hpp"
#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

constexpr int32_t kNobody = -1;

bool bit_of(const std::string& bits, size_t number) {
  return (uint8_t(bits[number / 8]) >> number % 8 & 1) != 0;
}

}  // namespace

BlockLedger::BlockLedger(const Manifest& manifest) : manifest_(manifest), first_{0} {
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

std::string BlockLedger::bits() const {
  std::string bits((digests_.size() + 7) / 8, '\0');
  for (size_t i = 0; i < digests_.size(); ++i) {
    if (has(int64_t(i))) bits[i / 8] = char(uint8_t(bits[i / 8]) | 1u << i % 8);
  }
  return bits;
}

std::vector<int32_t> BlockLedger::owners(const std::vector<std::string>& bits) const {
  for (const std::string& of : bits) {
    ZERO_REQUIRE(of.size() == (digests_.size() + 7) / 8, "ranks have read other manifests");
  }
  std::vector<int32_t> owners(digests_.size(), kNobody);
  for (size_t i = 0; i < owners.size(); ++i) {
    const auto reader = std::ranges::find_if(bits, [&](const auto& of) { return bit_of(of, i); });
    if (reader != bits.end()) owners[i] = int32_t(reader - bits.begin());
  }
  const auto ranks = int64_t(bits.size()), unread = std::ranges::count(owners, kNobody);
  int64_t given = 0;
  for (int32_t& owner : owners) {
    if (owner == kNobody) owner = int32_t(given++ * ranks / unread);
  }
  return owners;
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

std::string BlockLedger::digests(const std::vector<int32_t>& owners, int32_t rank) const {
  std::string text;
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] != rank) continue;
    ZERO_REQUIRE(has(int64_t(i)), "block ", i, " was not read");
    text.append(reinterpret_cast<const char*>(digests_[i].data()), sizeof(Digest));
  }
  return text;
}

void BlockLedger::take(const std::vector<int32_t>& owners, int32_t rank,
                       const std::string& digests) {
  size_t at = 0;
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] != rank) continue;
    ZERO_REQUIRE(at + sizeof(Digest) <= digests.size(), "rank ", rank, " told too few digests");
    Digest digest;
    std::memcpy(digest.data(), digests.data() + at, sizeof(Digest));
    note(int64_t(i), digest);
    at += sizeof(Digest);
  }
}

void BlockLedger::require_digest(int32_t file, const std::string& folder) const {
  const File& expected = manifest_.files[size_t(file)];
  FileDigest whole;
  for (size_t block = 0; block < expected.crc32c.size(); ++block) {
    const int64_t i = number(file, int64_t(block));
    ZERO_REQUIRE(has(i), expected.name, ": block ", block, " was not read");
    const int64_t rest = expected.bytes - int64_t(block) * kDigestBlockBytes;
    whole.add_block({.crc32c = expected.crc32c[block],
                     .xxh3 = digests_[size_t(i)],
                     .bytes = std::min(kDigestBlockBytes, rest)});
  }
  require_same_digest(whole.result(expected.name), expected, folder + "/" + expected.name);
}

}  // namespace zero::checkpoint
