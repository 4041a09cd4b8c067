#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "io/checkpoint/digest_thread.hpp"
#include "io/checkpoint/payload_file.hpp"
#include "zero/io/aio/queue.hpp"
#include "zero/io/checkpoint/shard_file.hpp"

namespace zero::checkpoint {

/// Writes a file from its first byte to its last, in blocks of kBlockBytes: while the next is
/// filled, the disk takes those before it, and a thread their digests from memory.
class BlockWriter {
 public:
  /// `file` and `staging`, of kStagingBytes, outlive it.
  BlockWriter(PayloadFile& file, std::span<std::byte> staging, const DigestForm& digests);
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  /// The next bytes, which may be changed when it returns. Throws Error(kIo).
  void append(std::span<const std::byte> bytes) { append(bytes, false); }
  /// The same of bytes that stay as they are until digests() has returned or this is gone. Where a
  /// whole block of the file lies in them, at an address that the disk can read from, it is not
  /// copied.
  void append_resting(std::span<const std::byte> bytes) { append(bytes, true); }
  /// Bytes appended so far.
  int64_t bytes() const { return bytes_; }
  /// Blocks that were not copied.
  int64_t blocks_in_place() const { return blocks_in_place_; }
  /// Returns when all is written, though not yet on the disk. Throws Error(kIo).
  void finish();
  /// After finish(), which does not wait for them.
  File digests(const std::string& name) { return digest_.result(name); }

 private:
  /// As long as a disk wants them.
  static constexpr int64_t kBlockBytes = int64_t(1) << 20;
  static_assert(kBlockBytes % kShortBlockBytes == 0 && kBlockBytes % kLongBlockBytes == 0);
  /// More than the disk has at a time, so that it has its next ones while one is filled.
  static constexpr int kBlocks = int(kStagingBytes / kBlockBytes);
  static constexpr int kUnderWay = 8;

  void append(std::span<const std::byte> bytes, bool rests);
  std::span<std::byte> staged() const;
  std::span<const std::byte> block(size_t bytes) const;
  void begin_block();
  void add(std::span<const std::byte> bytes, bool rests);
  bool goes_on_in_place(std::span<const std::byte> bytes, size_t filled) const;
  void copy(std::span<const std::byte> bytes, size_t filled);
  void send(int64_t offset, std::span<const std::byte> bytes);
  void send_block();
  void send_end(size_t bytes);
  void wait(int slot);
  void wait_for_all();

  PayloadFile& payload_;
  aio::File file_;
  std::span<std::byte> staging_;     // [kBlocks][kBlockBytes]
  DigestThread digest_;              // ends before the memory does
  std::optional<aio::Queue> queue_;  // and so does this
  std::optional<aio::Ticket> tickets_[kBlocks];
  const std::byte* in_place_ = nullptr;  ///< the block that is filled, where it is not copied
  int64_t block_ = 0;                    ///< its number
  int64_t bytes_ = 0;
  int64_t blocks_in_place_ = 0;
};

}  // namespace zero::checkpoint
