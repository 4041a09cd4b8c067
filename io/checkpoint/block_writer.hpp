#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "io/checkpoint/digest_thread.hpp"
#include "io/checkpoint/payload_file.hpp"
#include "zero/device/arena.hpp"
#include "zero/io/aio/queue.hpp"

namespace zero::checkpoint {

/// Writes a file from its first byte to its last, in blocks of kDigestBlockBytes: while the next is
/// filled, the disk takes those before it, and a thread their digests from memory.
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
  /// After finish(), which does not wait for them.
  File digests(const std::string& name) { return digest_.result(name); }

 private:
  /// More than the disk has at a time, so that it has its next ones while one is filled.
  static constexpr int kBlocks = 16;
  static constexpr int kUnderWay = 8;

  std::span<std::byte> block() const;
  void begin_block();
  void send(int64_t offset, std::span<std::byte> bytes);
  void send_block();
  void send_end(size_t bytes);
  void wait(int slot);
  void wait_for_all();

  PayloadFile& payload_;
  aio::File file_;
  Arena memory_;                     // [kBlocks][kDigestBlockBytes]
  DigestThread digest_;              // ends before the memory does
  std::optional<aio::Queue> queue_;  // and so does this
  std::optional<aio::Ticket> tickets_[kBlocks];
  int64_t block_ = 0;  ///< number of the one that is filled
  int64_t bytes_ = 0;
};

}  // namespace zero::checkpoint
