#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "zero/io/files/open_file.hpp"

namespace zero::launch {

/// A lock in memory that processes share. Its owner holds it all its life, so the kernel tells the
/// others of its death, from any cause and across tables of processes. A stopped owner keeps it.
class LifeLock {
 public:
  /// Takes the lock for the owner. REQUIRES: the memory is zeros; others may read it already.
  LifeLock();
  LifeLock(const LifeLock&) = delete;
  LifeLock& operator=(const LifeLock&) = delete;

  /// Records that the owner ends as it should. REQUIRES: called in the thread that made the lock.
  void leave();
  bool has_left() const { return state_ == kLeft; }
  /// True if the owner has ended without leave(). REQUIRES: another process calls it.
  bool has_died();

 private:
  static constexpr int kUnborn = 0, kLives = 1, kLeft = 2, kDead = 3;

  std::atomic<int> state_;
  pthread_mutex_t mutex_;
};

/// A count of the bytes that this process has moved: all reads and writes, and the kernel's
/// transfers from and to disks for it. Every moved byte raises it, by no certain amount.
class MovedBytes {
 public:
  MovedBytes();
  /// Returns the count. Constant if the kernel does not tell.
  int64_t count();
  /// Lowers the count by bytes that are no progress.
  void leave_out(int64_t bytes) { own_ += bytes; }

 private:
  OpenFile file_;
  int64_t own_ = 0;  ///< bytes of reading the file, which the kernel counts too, and of others
};

}  // namespace zero::launch
