#include "zero/io/data/sample_thread.hpp"

#include <utility>

namespace zero {

SampleThread::~SampleThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SampleThread::begin(int64_t step) {
  {
    const std::lock_guard lock(mutex_);
    step_ = step;
    is_read_ = false;
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

bool SampleThread::finish(int64_t step) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_read_; });
  const bool is_same = std::exchange(step_, 0) == step;
  const std::exception_ptr error = std::exchange(error_, {});
  if (is_same && error) std::rethrow_exception(error);
  return is_same;
}

void SampleThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_over_ || !is_read_; });
    if (is_over_) return;
    const int64_t step = step_;
    lock.unlock();
    std::exception_ptr error;
    try {
      read_(step);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    is_read_ = true;
    changed_.notify_all();
  }
}

}  // namespace zero
