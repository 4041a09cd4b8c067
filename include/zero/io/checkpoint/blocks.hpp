#pragma once
/// The blocks of a checkpoint's files: their digests, and a record of those that this rank has
/// read.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {

/// Returns the hexadecimal digest of a block in the given form, as File::digests has it.
std::string digest_of(std::span<const std::byte> block, const DigestForm& form);

/// Adds the size and the blocks' digests of a file's next bytes to its entry `file`. REQUIRES:
/// whole blocks, except at the end of the file.
void add_blocks(std::span<const std::byte> bytes, const DigestForm& form, File& file);

/// A record of the checkpoint's blocks that this rank has read and found as the manifest's digests
/// say. A loaded checkpoint is thus verified by the same reads: ranks exchange their records, then
/// read the blocks that no rank has read. Blocks are numbered through the files in the manifest's
/// order. note() is thread-safe. claims() and missing() must not run beside it.
class BlockLedger {
 public:
  /// Makes a record of the blocks of the manifest's files, none of them noted.
  explicit BlockLedger(const Manifest& manifest);

  int64_t blocks() const { return first_.back(); }
  /// Returns the count of noted blocks. Callable from any thread at any time.
  int64_t noted() const { return noted_.load(std::memory_order_relaxed); }
  /// Notes the block of index `block` in the manifest's file of index `file`.
  void note(int32_t file, int64_t block);

  static constexpr int32_t kNobody = INT32_MAX;
  /// Returns `rank` for each noted block, else kNobody.
  /// [blocks]
  std::vector<int32_t> claims(int32_t rank) const;
  /// Returns the rank, of `ranks` ranks, that answers for each block. `claims` has the smallest
  /// rank that noted each, or kNobody. Blocks that no rank noted are shared out evenly, neighbours
  /// to one rank.
  /// [blocks]
  static std::vector<int32_t> owners(std::vector<int32_t> claims, int32_t ranks);

  struct Block {
    int32_t file;
    int64_t number;  ///< index in the file
  };
  /// Returns the blocks that `rank`, this rank, answers for by `owners` and has not noted.
  std::vector<Block> missing(const std::vector<int32_t>& owners, int32_t rank) const;

 private:
  std::vector<int64_t> first_;  ///< [files + 1] number of each file's first block
  std::unique_ptr<std::atomic<bool>[]> has_;
  std::atomic<int64_t> noted_{0};
};

}  // namespace zero::checkpoint
