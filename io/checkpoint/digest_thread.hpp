#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "io/checkpoint/file_digest.hpp"

namespace zero::checkpoint {

/// Takes the digests of a file on a thread of its own, while its owner fills the next blocks and
/// the disk takes this one. Used by one thread.
class DigestThread {
 public:
  DigestThread() : thread_([this] { work(); }) {}
  /// Leaves what is not done.
  ~DigestThread();
  DigestThread(const DigestThread&) = delete;
  DigestThread& operator=(const DigestThread&) = delete;

  /// The next block of the file, as FileDigest::add_block; it stays until wait_for() has returned.
  void add_block(std::span<const std::byte> block);
  /// Returns when so many blocks, of those that were added, are done with. Throws what failed.
  void wait_for(int64_t blocks);
  /// After all blocks. The entry of the file.
  File result(const std::string& name);

 private:
  void work();
  void take(std::unique_lock<std::mutex>& lock);

  FileDigest digest_;
  std::mutex mutex_;
  std::condition_variable added_, taken_;
  std::deque<std::span<const std::byte>> waiting_;
  int64_t blocks_ = 0, done_ = 0;
  bool closing_ = false;
  std::exception_ptr problem_;
  std::thread thread_;
};

}  // namespace zero::checkpoint
