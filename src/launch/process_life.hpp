#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "zero/launch/files.hpp"

namespace zero::launch {

/// A lock in memory that processes share, which its owner holds from its first moment to its last.
/// So the kernel tells the others of its death, whatever it has died of and whether they share a
/// table of processes or not. One that is merely stopped holds it on.
class LifeLock {
 public:
  /// By the owner, in memory of zeros that others may look at already.
  LifeLock();
  LifeLock(const LifeLock&) = delete;
  LifeLock& operator=(const LifeLock&) = delete;

  /// The owner, in the thread that made it, goes as it should.
  void leave();
  bool has_left() const { return state_ == kLeft; }
  /// Asked by another process: the owner has ended without leave().
  bool has_died();

 private:
  static constexpr int kUnborn = 0, kLives = 1, kLeft = 2, kDead = 3;

  std::atomic<int> state_;
  pthread_mutex_t mutex_;
};

/// What this process has moved by now: bytes of all reads and writes, and those that the kernel has
/// fetched from disks or has to bring there for it. Rises with every byte, by no certain amount.
class MovedBytes {
 public:
  MovedBytes();
  /// Where the kernel does not say, always the same.
  int64_t count();

 private:
  OpenFile file_;
  int64_t own_ = 0;  ///< of reading the file, which counts too
};

}  // namespace zero::launch
