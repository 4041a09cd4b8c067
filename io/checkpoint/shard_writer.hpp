#pragma once
/// The part of ShardWriter (zero/io/checkpoint/shard_file.hpp) that puts a file's bytes on disk.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/checkpoint/file_structure.hpp"
#include "zero/io/aio/queue.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {

/// A writer of a new HDF5 file from first byte to last: payloads, with HDF5's bytes between them.
/// It writes pieces of kPieceBytes. While one is filled and its digests are taken from memory, the
/// disk takes those before it. Direct I/O, where the file system has it, takes no memory from
/// training and leaves fsync little to do. Every function throws Error(kIo) naming file and reason.
class ShardStream {
 public:
  /// Bytes of a write to the disk, as long as disks want it.
  static constexpr int64_t kWriteBytes = int64_t(1) << 20;
  /// Bytes of a piece: several writes, which one call may send. A virtual disk's driver wakes up
  /// for each call, and took pieces of four writes 4 % faster than single writes.
  static constexpr int64_t kPieceBytes = 4 * kWriteBytes;
  static_assert(kPieceBytes % kShortBlockBytes == 0 && kPieceBytes % kLongBlockBytes == 0);

  struct Target {
    int folder;  ///< descriptor of an open folder
    std::string name;
    int mode = 0600;
  };
  /// Makes the file (O_EXCL) and reserves its bytes. REQUIRES: `staging`, of kStagingBytes,
  /// outlives the stream.
  ShardStream(const Target& target, std::shared_ptr<const FileStructure> structure,
              std::span<std::byte> staging, const DigestForm& digests);
  ShardStream(const ShardStream&) = delete;
  ShardStream& operator=(const ShardStream&) = delete;

  /// Appends the next payload bytes. With `stays`, they remain unchanged until finish() or
  /// destruction, so whole aligned pieces are written without a copy.
  void append(std::span<const std::byte> bytes, bool stays = false);
  /// Returns when everything is on disk. REQUIRES: all bytes were appended.
  ShardWriter::Written finish();

  /// Returns the required alignment of write buffers in bytes; 0 with the page cache.
  size_t alignment() const { return alignment_; }
  /// Returns the count of pieces written without a copy.
  int64_t pieces_in_place() const { return pieces_in_place_; }

 private:
  static constexpr int kPieces = int(kStagingBytes / kPieceBytes);
  /// Writes that the disk has at a time. A piece has more, so the disk has its next ones while
  /// another piece is filled.
  static constexpr int kUnderWay = 8;
  static_assert(kStagingBytes % kPieceBytes == 0 && kStagingBytes > kUnderWay * kWriteBytes);

  int64_t left() const;
  void put(std::span<const std::byte> bytes, bool stays);
  void add(std::span<const std::byte> bytes, bool stays);
  bool goes_on_in_place(std::span<const std::byte> bytes, size_t filled) const;
  void copy(std::span<const std::byte> bytes, size_t filled);
  std::span<std::byte> staged() const;
  std::span<const std::byte> piece(size_t bytes) const;
  void begin_piece();
  void send(int64_t offset, std::span<const std::byte> bytes);
  void send_piece();
  void send_end(size_t bytes);
  void wait(int slot);
  void wait_for_all();

  const std::string name_, path_;
  const std::shared_ptr<const FileStructure> structure_;
  const OpenFile file_;
  const size_t alignment_;
  const aio::File target_;
  std::span<std::byte> staging_;  // [kPieces][kPieceBytes]
  const DigestForm form_;
  File entry_;
  aio::Queue queue_;  // destroyed before the memory
  std::optional<aio::Ticket> tickets_[kPieces];
  size_t payload_ = 0;                   ///< index of the current payload
  const std::byte* in_place_ = nullptr;  ///< start of the current piece, if not copied
  int64_t piece_ = 0;                    ///< index of the current piece
  int64_t bytes_ = 0;                    ///< bytes of the file so far
  int64_t pieces_in_place_ = 0;
};

}  // namespace zero::checkpoint
