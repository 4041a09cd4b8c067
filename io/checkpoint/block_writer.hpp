#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "io/checkpoint/file_digest.hpp"
#include "io/checkpoint/payload_file.hpp"
#include "zero/device/arena.hpp"
#include "zero/io/aio/queue.hpp"

namespace zero::checkpoint {

/// Writes a file from its first byte to its last, in blocks of kDigestBlockBytes: some are under
/// way while the next is filled. Digests are taken from memory.
class BlockWriter {
 public:
  /// `file` outlives it.
  explicit BlockWriter(PayloadFile& file);
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  /// The next bytes, which may be changed when it returns. Throws Error(kIo).
  void append(std::span<const std::byte> bytes);
  /// Bytes appended so far.
  int64_t bytes() const { return bytes_; }
  /// Returns when all is written, though not yet on the disk. Throws Error(kIo).
  void finish();
  /// After finish().
  File digests(const std::string& name) { return digest_.result(name); }

 private:
  static constexpr int kBlocks = 8;

  std::span<std::byte> block() const;
  void send_block(size_t bytes);
  void wait(int slot);
  void wait_for_all();

  PayloadFile& payload_;
  aio::File file_;
  Arena memory_;                     // [kBlocks][kDigestBlockBytes]
  std::optional<aio::Queue> queue_;  // ends before the memory does
  std::optional<aio::Ticket> tickets_[kBlocks];
  FileDigest digest_;
  int slot_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace zero::checkpoint
