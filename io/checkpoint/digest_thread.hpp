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

/// Takes the digests of a file on a thread of its own, while its owner fills the next part and
/// the disk takes this one. Used by one thread.
class DigestThread {
 public:
  explicit DigestThread(const DigestForm& form) : digest_(form), thread_([this] { work(); }) {}
  /// Leaves what is not done.
  ~DigestThread();
  DigestThread(const DigestThread&) = delete;
  DigestThread& operator=(const DigestThread&) = delete;

  /// The next part of the file, as FileDigest::add; it stays until wait_for() has returned.
  void add(std::span<const std::byte> part);
  /// Returns when so many parts, of those that were added, are done with. Throws what failed.
  void wait_for(int64_t parts);
  /// After all parts. The entry of the file.
  File result(const std::string& name);

 private:
  void work();
  void take(std::unique_lock<std::mutex>& lock);

  FileDigest digest_;
  std::mutex mutex_;
  std::condition_variable added_, taken_;
  std::deque<std::span<const std::byte>> waiting_;
  int64_t parts_ = 0, done_ = 0;
  bool closing_ = false;
  std::exception_ptr problem_;
  std::thread thread_;
};

}  // namespace zero::checkpoint
