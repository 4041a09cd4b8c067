#include "src/comm/side_thread.hpp"

#include <system_error>
#include <utility>

#include "zero/base/error.hpp"

namespace zero::comm {

SideThread::SideThread() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    refuse(Exit::kDoesNotFit, "a thread for collectives between nodes: ", error.what(),
           " - allow more processes (ulimit -u), or set ZERO_COMM=flat");
  }
}

SideThread::~SideThread() {
  rest();
  start(nullptr, nullptr);
  thread_.join();
}

void SideThread::start(void (*call)(const void*), const void* work) {
  call_ = call;
  work_ = work;
  ++started_;
  started_.notify_one();
}

void SideThread::run() {
  for (uint32_t done = 0;; ++done) {
    started_.wait(done);
    if (call_ == nullptr) return;
    try {
      call_(work_);
    } catch (...) {
      error_ = std::current_exception();
    }
    ++ended_;
    ended_.notify_one();
  }
}

void SideThread::rest() noexcept {
  const uint32_t all = started_;
  for (uint32_t done = ended_; done != all; done = ended_) ended_.wait(done);
  error_ = nullptr;
}

void SideThread::wait() {
  const uint32_t all = started_;
  for (uint32_t done = ended_; done != all; done = ended_) ended_.wait(done);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace zero::comm
