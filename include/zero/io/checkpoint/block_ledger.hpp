#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/xxh3.hpp"
#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {

/// Which blocks of a checkpoint's files this rank has read and found as the manifest's CRC-32C
/// wants them, with the XXH3-128 of each. So a checkpoint that is loaded is verified by the same
/// reads: ranks tell each other what they have read, read what nobody has, and tell each other its
/// digests. Blocks are numbered through the files in the manifest's order. note() is safe from
/// several threads; the others are not while it is called.
class BlockLedger {
 public:
  using Digest = Xxh3Digest;

  explicit BlockLedger(const Manifest& manifest);

  int64_t blocks() const { return int64_t(digests_.size()); }
  /// So many are noted: readable from any thread at any time.
  int64_t noted() const { return noted_.load(std::memory_order_relaxed); }
  bool has(int32_t file, int64_t block) const { return has(number(file, block)); }
  /// Keeps what is there already.
  void note(int32_t file, int64_t block, const Digest& digest);

  static constexpr int32_t kNobody = INT32_MAX;
  /// `rank` for each block that is noted, else kNobody.
  ///   [blocks]
  std::vector<int32_t> claims(int32_t rank) const;
  /// Who answers for each block, from the smallest of all ranks' claims: the first that has noted
  /// it; of those that nobody has, each rank for as many, neighbours to one.
  ///   [blocks]
  static std::vector<int32_t> owners(std::vector<int32_t> claims, int32_t ranks);

  struct Block {
    int32_t file;
    int64_t number;  ///< in the file
  };
  /// What a rank has to read yet of what it answers for.
  std::vector<Block> missing(const std::vector<int32_t>& owners, int32_t rank) const;

  /// The digests of what a rank answers for in one file, all of it noted.
  std::string digests(const std::vector<int32_t>& owners, int32_t rank, int32_t file) const;
  /// Notes those of another rank, as its digests() are, and returns how many bytes of them there
  /// were; others may follow.
  size_t take(const std::vector<int32_t>& owners, int32_t rank, int32_t file,
              std::string_view digests);

  /// All blocks of a file noted: its own digest is theirs, and must not be of its bytes. Throws
  /// Error(kInput) naming `folder` and file.
  void require_digest(int32_t file, const std::string& folder) const;

 private:
  int64_t number(int32_t file, int64_t block) const { return first_[size_t(file)] + block; }
  bool has(int64_t number) const {
    return states_[size_t(number)].load(std::memory_order_acquire) == kNoted;
  }
  void note(int64_t number, const Digest& digest);

  enum State : uint8_t { kUnknown, kTaken, kNoted };
  const Manifest& manifest_;
  const DigestForm form_;
  std::vector<int64_t> first_;  ///< [files + 1] number of their first block
  std::vector<Digest> digests_;
  std::unique_ptr<std::atomic<uint8_t>[]> states_;
  std::atomic<int64_t> noted_{0};
};

}  // namespace zero::checkpoint
