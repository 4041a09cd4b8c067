#pragma once
/// What a save is held against: as many bytes in a file that somebody writes who has nothing but
/// them, without structure, digests or a name that is only theirs in the end.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/io/aio/queue.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::perf {

/// Through the page cache, as write() does, or past it, with room set aside and blocks under way
/// side by side, as fast as the disk takes them.
enum class RawWay { cached, direct };

class RawFile {
 public:
  RawFile(const std::string& path, int64_t bytes, RawWay way) : path_(path), way_(way) {
    const int past = way == RawWay::direct ? O_DIRECT : 0;
    opened_ = OpenFile(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | past, 0600));
    require(bool(opened_), "open");
    file_ = {.descriptor = opened_.descriptor(), .name = path};
    if (way == RawWay::cached) return;
    require(fallocate(opened_.descriptor(), 0, 0, off_t(bytes)) == 0, "fallocate");
    queue_.emplace(aio::make_engine({.depth = kDepth}).engine,
                   aio::QueueOptions{.block_bytes = kBlockBytes});
  }

  /// Past the page cache: whole pages that begin at one, and that stay until the next call.
  void append(std::span<std::byte> bytes) {
    const int64_t at = std::exchange(bytes_, bytes_ + int64_t(bytes.size()));
    if (queue_) {
      const aio::Ticket ticket = queue_->submit(
          {.direction = aio::Direction::write, .file = &file_, .offset = at, .memory = bytes});
      wait();
      under_way_ = ticket;
      return;
    }
    for (size_t begin = 0; begin < bytes.size(); begin += kPieceBytes) {
      const std::span<std::byte> piece =
          bytes.subspan(begin, std::min(kPieceBytes, bytes.size() - begin));
      const int reason =
          write_all(opened_, {reinterpret_cast<const char*>(piece.data()), piece.size()});
      if (reason != 0) refuse(Exit::kIo, path_, ": ", std::strerror(reason));
    }
  }

  /// On the disk when it returns.
  void finish() {
    wait();
    require(fsync(opened_.descriptor()) == 0, "fsync");
  }

 private:
  static constexpr int kDepth = 8;
  static constexpr int64_t kBlockBytes = int64_t(1) << 20;
  static constexpr size_t kPieceBytes = size_t(8) << 20;

  void wait() {
    if (under_way_) queue_->wait(*std::exchange(under_way_, std::nullopt));
  }

  void require(bool done, const char* call) const {
    if (!done) refuse(Exit::kIo, path_, ": ", call, ": ", std::strerror(errno));
  }

  std::string path_;
  RawWay way_;
  OpenFile opened_;
  aio::File file_;
  std::optional<aio::Queue> queue_;
  std::optional<aio::Ticket> under_way_;
  int64_t bytes_ = 0;
};

/// Until a disk has done with what was written and removed before. A file system that tells its
/// disk which room is free does so with a later commit, which would be that of whoever comes next.
inline void let_disk_rest() {
  sync();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
}

/// Bytes that are not alike, for a disk that would notice.
inline void fill_unalike(std::span<std::byte> bytes) {
  uint64_t state = 1;
  for (size_t i = 0; i + sizeof state <= bytes.size(); i += sizeof state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(bytes.data() + i, &state, sizeof state);
  }
}

}  // namespace zero::perf
