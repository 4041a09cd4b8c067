#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace zero {

/// A thread that reads the samples of the next step while this one computes.
class SampleThread {
 public:
  /// Sets `read`, which the thread calls with the step of each begin().
  explicit SampleThread(std::function<void(int64_t step)> read) : read_(std::move(read)) {}
  /// Blocks until a read that has begun ends. Drops its error.
  ~SampleThread();
  SampleThread(const SampleThread&) = delete;
  SampleThread& operator=(const SampleThread&) = delete;

  /// Begins to read for step number `step`. Returns at once. REQUIRES: no read has begun, or
  /// finish() has returned since.
  void begin(int64_t step);
  /// Blocks until the read that has begun ends. True if it was for `step`; then throws what it
  /// threw. False for another step, and if none has begun.
  bool finish(int64_t step);

 private:
  void work();

  const std::function<void(int64_t step)> read_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t step_ = 0;  ///< step that is read, or has been; 0 = none
  bool is_read_ = true, is_over_ = false;
  std::exception_ptr error_ = {};
  std::thread thread_;
};

}  // namespace zero
