#pragma once
/// How ShardWriter of zero/io/checkpoint/shard_file.hpp puts a file's bytes on the disk.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/checkpoint/file_structure.hpp"
#include "zero/io/aio/queue.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/files.hpp"

namespace zero::checkpoint {

/// Writes a new HDF5 file from its first byte to its last: payloads, and between them what HDF5 has
/// put there. It goes in pieces of kPieceBytes: while one is filled and its digests are taken from
/// memory, the disk takes those before it. Where the file system can, it goes past the page
/// cache, so that saving takes no memory from training and leaves the disk little to do in fsync.
/// Every function throws Error(kIo) naming file and reason.
class ShardStream {
 public:
  /// A write to the disk is as long as disks want it.
  static constexpr int64_t kWriteBytes = int64_t(1) << 20;
  /// A piece is several writes, which one call may send. The driver of a virtual disk wakes up for
  /// each call: it took pieces of four writes 4 % faster than single ones.
  static constexpr int64_t kPieceBytes = 4 * kWriteBytes;
  static_assert(kPieceBytes % kShortBlockBytes == 0 && kPieceBytes % kLongBlockBytes == 0);

  struct Target {
    int folder;  ///< open
    std::string name;
    int mode = 0600;
  };
  /// Makes the file (O_EXCL) and sets its room aside. `staging`, of kStagingBytes, outlives it.
  ShardStream(const Target& target, std::shared_ptr<const FileStructure> structure,
              std::span<std::byte> staging, const DigestForm& digests);
  ShardStream(const ShardStream&) = delete;
  ShardStream& operator=(const ShardStream&) = delete;

  /// Appends the next payload bytes. With `stays`, they remain unchanged until finish() or
  /// destruction, so whole aligned pieces are written without a copy.
  void append(std::span<const std::byte> bytes, bool stays = false);
  /// Everything is on the disk when it returns. Requires that all was appended.
  ShardWriter::Written finish();

  /// Required alignment of write buffers in bytes; 0 when the page cache is used.
  size_t alignment() const { return alignment_; }
  /// Pieces that were not copied.
  int64_t pieces_in_place() const { return pieces_in_place_; }

 private:
  static constexpr int kPieces = int(kStagingBytes / kPieceBytes);
  /// The disk has so many writes at a time. There are more, so that it has its next ones while a
  /// piece is filled.
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
  aio::Queue queue_;  // ends before the memory does
  std::optional<aio::Ticket> tickets_[kPieces];
  size_t payload_ = 0;                   ///< that is appended to
  const std::byte* in_place_ = nullptr;  ///< the piece that is filled, where it is not copied
  int64_t piece_ = 0;                    ///< its number
  int64_t bytes_ = 0;                    ///< so far
  int64_t pieces_in_place_ = 0;
};

}  // namespace zero::checkpoint
