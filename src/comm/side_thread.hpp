#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>

namespace zero::comm {

/// A thread that runs one piece of work at a time beside its owner. Sleeps between them.
class SideThread {
 public:
  /// Throws Error(kDoesNotFit) if the system refuses a thread.
  SideThread();
  /// Waits for the work that runs.
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  /// Lets the thread call work(). REQUIRES: `work` lives until wait() or rest() returns, which the
  /// owner has called since the work before.
  template <class Work>
  void start(const Work& work) {
    start([](const void* made) { (*static_cast<const Work*>(made))(); }, &work);
  }
  /// Blocks until the work has ended. Throws what it has thrown.
  void wait();
  /// Blocks until the work has ended, and forgets what it has thrown.
  void rest() noexcept;

 private:
  void start(void (*call)(const void*), const void* work);
  void run();

  std::atomic<uint32_t> started_{0}, ended_{0};
  void (*call_)(const void*) = nullptr;  ///< null: the thread ends
  const void* work_ = nullptr;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace zero::comm
