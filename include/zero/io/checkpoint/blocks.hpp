#pragma once
/// The blocks of a checkpoint's files: their digests, and which of them this rank has read.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {

/// The digits of one block, as File::digests has them.
std::string digest_of(std::span<const std::byte> block, const DigestForm& form);

/// Enters the next bytes of a file: whole blocks, but for those that end it.
void add_blocks(std::span<const std::byte> bytes, const DigestForm& form, File& file);

/// Which blocks of a checkpoint's files this rank has read and found as the manifest's digests want
/// them. So a checkpoint that is loaded is verified by the same reads: ranks tell each other what
/// they have read, and read what nobody has. Blocks are numbered through the files in the
/// manifest's order. note() is safe from several threads; claims() and missing() are not while it
/// is called.
class BlockLedger {
 public:
  explicit BlockLedger(const Manifest& manifest);

  int64_t blocks() const { return first_.back(); }
  /// So many are noted: readable from any thread at any time.
  int64_t noted() const { return noted_.load(std::memory_order_relaxed); }
  void note(int32_t file, int64_t block);

  static constexpr int32_t kNobody = INT32_MAX;
  /// `rank` for each block that is noted, else kNobody.
  ///   [blocks]
  std::vector<int32_t> claims(int32_t rank) const;
  /// The rank that answers for each block, from the smallest of all ranks' claims: the first that
  /// has noted it. Blocks that nobody has noted are shared out evenly, neighbours to one rank.
  ///   [blocks]
  static std::vector<int32_t> owners(std::vector<int32_t> claims, int32_t ranks);

  struct Block {
    int32_t file;
    int64_t number;  ///< in the file
  };
  /// What a rank has to read yet of what it answers for.
  std::vector<Block> missing(const std::vector<int32_t>& owners, int32_t rank) const;

 private:
  std::vector<int64_t> first_;  ///< [files + 1] number of their first block
  std::unique_ptr<std::atomic<bool>[]> has_;
  std::atomic<int64_t> noted_{0};
};

}  // namespace zero::checkpoint
