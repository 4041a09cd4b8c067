#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "zero/base/error.hpp"
#include "zero/io/aio/queue.hpp"

namespace zero::aio {
namespace {

/// An engine of pread and pwrite on a few threads.
class ThreadEngine final : public Engine {
 public:
  explicit ThreadEngine(const EngineOptions& options) : depth_(options.depth) {
    waiting_.reserve(size_t(depth_));
    completed_.reserve(size_t(depth_));
    try {
      for (int t = 0; t < options.threads; ++t) threads_.emplace_back([this] { serve(); });
    } catch (...) {
      // The system may refuse a thread; those before it must end.
      end_threads();
      throw;
    }
  }
  ~ThreadEngine() override { end_threads(); }
  ThreadEngine(const ThreadEngine&) = delete;
  ThreadEngine& operator=(const ThreadEngine&) = delete;

  std::string_view name() const override { return "threads"; }
  int depth() const override { return depth_; }

  std::string register_memory(std::span<std::byte>) override { return ""; }

  void start(const Block& block, uint64_t tag) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ZERO_REQUIRE(in_flight_ < depth_, "more than ", depth_, " blocks in flight");
    waiting_.push_back({block, tag});
    ++in_flight_;
  }

  void flush() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      released_ = waiting_.size();
    }
    work_.notify_all();
  }

  void reap(bool wait, std::vector<Completion>& completed) override {
    std::unique_lock<std::mutex> lock(mutex_);
    if (wait && in_flight_ > 0) result_.wait(lock, [this] { return !completed_.empty(); });
    in_flight_ -= int(completed_.size());
    completed.insert(completed.end(), completed_.begin(), completed_.end());
    completed_.clear();
  }

 private:
  struct Work {
    Block block;
    uint64_t tag;
  };

  void end_threads() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      closing_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      work_.wait(lock, [this] { return closing_ || released_ > 0; });
      if (released_ == 0) return;
      const Work work = waiting_.front();
      waiting_.erase(waiting_.begin());
      --released_;
      lock.unlock();
      const int64_t result = move(work.block);
      lock.lock();
      completed_.push_back({work.tag, result});
      result_.notify_one();
    }
  }

  static int64_t move(const Block& block) {
    const size_t bytes = size_t(block.bytes);
    const ssize_t moved = block.direction == Direction::read
                              ? pread(block.file, block.memory, bytes, block.offset)
                              : pwrite(block.file, block.memory, bytes, block.offset);
    return moved >= 0 ? moved : -errno;
  }

  const int depth_;
  std::mutex mutex_;
  std::condition_variable work_, result_;
  std::vector<Work> waiting_;  ///< threads may take the first released_
  size_t released_ = 0;
  std::vector<Completion> completed_;
  int in_flight_ = 0;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Engine> make_thread_engine(const EngineOptions& options) {
  return std::make_unique<ThreadEngine>(options);
}

EngineChoice make_engine(const EngineOptions& options) {
  ZERO_REQUIRE(options.depth >= 1 && options.threads >= 1, "an engine of depth ", options.depth,
               " with ", options.threads, " threads: both must be at least 1");
  EngineChoice choice;
  choice.engine = make_uring_engine(options, choice.warning);
  if (choice.engine) return choice;
  if (options.require_uring) {
    refuse(Exit::kUsage, "aio.require_uring = true, but ", choice.warning,
           "; write false to move the same bytes by threads");
  }
  choice.warning += "; threads move the same bytes, aio.intra_op_parallelism blocks at a time";
  choice.engine = make_thread_engine(options);
  return choice;
}

}  // namespace zero::aio
