#include "io/checkpoint/digest_thread.hpp"

namespace zero::checkpoint {

DigestThread::~DigestThread() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  added_.notify_one();
  thread_.join();
}

void DigestThread::add(std::span<const std::byte> part) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(part);
    ++parts_;
  }
  added_.notify_one();
}

void DigestThread::wait_for(int64_t parts) {
  std::unique_lock lock(mutex_);
  taken_.wait(lock, [&] { return done_ >= parts || problem_; });
  if (problem_) std::rethrow_exception(problem_);
}

File DigestThread::result(const std::string& name) {
  wait_for(parts_);
  return digest_.result(name);
}

void DigestThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    added_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (closing_) return;
    take(lock);
    taken_.notify_one();
    if (problem_) return;
  }
}

/// The lock is not held while it works.
void DigestThread::take(std::unique_lock<std::mutex>& lock) {
  const std::span<const std::byte> part = waiting_.front();
  waiting_.pop_front();
  lock.unlock();
  std::exception_ptr problem;
  try {
    digest_.add(part);
  } catch (...) {
    problem = std::current_exception();
  }
  lock.lock();
  problem_ = problem;
  ++done_;
}

}  // namespace zero::checkpoint
