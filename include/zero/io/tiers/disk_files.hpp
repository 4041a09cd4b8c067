#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zero/io/aio/queue.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::tiers {

/// Buffers on disk begin at multiples of this, and their bytes are checked in blocks of it.
inline constexpr int64_t kDiskBlockBytes = int64_t(64) << 10;
/// With several folders, neighbouring stretches of this length at least lie in different ones.
inline constexpr int64_t kStripeBytes = int64_t(1) << 20;

struct DiskOptions {
  std::vector<std::string> folders = {};  ///< nvme_path; each must exist
  int64_t bytes = 0;                      ///< of this rank
  /// aio.block_size: with several folders, a longer one than kStripeBytes makes stripes as long.
  int64_t block_bytes = kStripeBytes;
};

/// What files striped over these folders can take in all.
int64_t free_bytes(const std::vector<std::string>& folders);

/// A rank's bytes on disk: in each folder one file without a name, which no other job can see,
/// plant or meet and which is gone when the process is, however it ends. All bytes are allocated at
/// once, so a disk that is too small is found at the start. The page cache is passed by where the
/// file system can.
class DiskFiles {
 public:
  /// Throws Error(kUsage) for a folder that is "" or missing, Error(kIo) with the bytes needed and
  /// free, or with folder and reason.
  explicit DiskFiles(const DiskOptions& options);
  DiskFiles(const DiskFiles&) = delete;
  DiskFiles& operator=(const DiskFiles&) = delete;

  int64_t bytes() const { return bytes_; }
  /// Memory that is moved must begin at, and be a multiple of, so many bytes: what the strictest
  /// folder wants, since stripes of all of them follow each other.
  int64_t align_bytes() const { return direct_files_ > 0 ? 4096 : 1; }
  /// Whether every byte has its room; else, where a file system gives none ahead, it is taken by
  /// writing.
  bool is_reserved() const { return is_reserved_; }
  /// Whether the page cache is passed by in every folder.
  bool direct() const { return direct_files_ == files_.size(); }

  struct Piece {
    const aio::File* file;
    int64_t offset;  ///< in the file
    int64_t bytes;
  };
  /// The longest stretch of one file that bytes from `offset` on lie in, at most `bytes` of them.
  Piece piece_at(int64_t offset, int64_t bytes) const;

 private:
  void open_in(const std::string& folder, int64_t bytes);

  int64_t bytes_;
  int64_t stripe_bytes_;
  size_t direct_files_ = 0;
  bool is_reserved_ = true;
  std::vector<OpenFile> open_;
  std::vector<aio::File> files_;  ///< the same, with their folders for names
};

}  // namespace zero::tiers
