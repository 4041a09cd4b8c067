#pragma once
/// Runs what a block of GPU threads runs on the host: each thread is a context of its own on one
/// real thread, which gives way wherever threads of the block meet.

#include <gtest/gtest.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace zero::testing {

class HostBlock;

/// What the code of one thread sees: see kernels/vendor/attention_block.hpp.
class HostBlockThread {
 public:
  HostBlockThread(HostBlock& block, int thread) : block_(block), thread_(thread) {}

  int64_t index() const;
  float* shared() const;
  int thread() const { return thread_; }
  int warp() const { return thread_ / 32; }
  int lane() const { return thread_ % 32; }
  void sync() const;
  /// Named barriers of the hardware: the one waits until `threads` have come, the other goes on.
  void meet(int barrier, int threads) const;
  void arrive(int barrier, int threads) const;
  void add(int64_t& sum, int64_t more) const { sum += more; }
  template <class Value>
  Value shuffle(Value value, int source) const;
  /// What is copied reads as rubbish until its group is waited for.
  void copy_async(void* to, const void* from, size_t bytes) const;
  void commit_copies() const;
  template <int kPending>
  void wait_copies() const;
  template <class Value>
  void keep_as_it_is(Value&) const {}

 private:
  HostBlock& block_;
  int thread_;
};

/// One block. All threads of a block must meet in sync(), all of a warp in shuffle(); a test fails
/// where some meet and others have ended.
class HostBlock {
 public:
  using Code = std::function<void(const HostBlockThread&)>;

  HostBlock(int64_t index, int threads, int64_t shared_numel, Code code)
      : index_(index),
        shared_(size_t(shared_numel), kPoison),
        code_(std::move(code)),
        fibers_(size_t(threads)),
        slots_(size_t(threads)) {}

  void run() {
    for (size_t t = 0; t < fibers_.size(); ++t) start(t);
    while (resume_all()) release();
  }

 private:
  friend class HostBlockThread;
  enum class State { ready, in_sync, in_shuffle, in_meeting, ended };
  static constexpr size_t kStackBytes = size_t(64) << 10;
  static constexpr float kPoison = 1e30f;

  struct Copy {
    void* to;
    const void* from;
    size_t bytes;
  };
  // A context begins a thread; from then on jumps are used, which cost no system call.
  struct Fiber {
    ucontext_t context;
    jmp_buf resumed;
    std::unique_ptr<char[]> stack;
    bool begun = false;
    State state = State::ready;
    int turn = 0;
    int barrier = 0;                        ///< at which it waits in a meeting
    std::vector<Copy> copies;               ///< in no group yet
    std::deque<std::vector<Copy>> pending;  ///< groups, the eldest first
  };
  struct Slot {
    double value[2];  ///< which holds every float, too
  };

  static void enter(unsigned high, unsigned low, unsigned thread) {
    auto* const block = reinterpret_cast<HostBlock*>(uintptr_t(high) << 32 | uintptr_t(low));
    block->code_(HostBlockThread(*block, int(thread)));
    block->fibers_[thread].state = State::ended;
    _longjmp(block->scheduler_, 1);
  }

  void start(size_t t) {
    Fiber& fiber = fibers_[t];
    fiber.stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    const auto self = reinterpret_cast<uintptr_t>(this);
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(enter), 3, unsigned(self >> 32),
                unsigned(self), unsigned(t));
  }

  void resume(Fiber& fiber) {
    if (_setjmp(scheduler_) != 0) return;
    if (fiber.begun) _longjmp(fiber.resumed, 1);
    fiber.begun = true;
    setcontext(&fiber.context);
  }

  /// Lets every thread go on that may; false if none was left to.
  bool resume_all() {
    bool any = false;
    for (Fiber& fiber : fibers_) {
      if (fiber.state != State::ready) continue;
      any = true;
      resume(fiber);
    }
    return any;
  }

  /// Frees the threads that have all met.
  void release() {
    release_if_met(0, fibers_.size(), State::in_sync);
    for (size_t first = 0; first < fibers_.size(); first += 32)
      release_if_met(first, std::min(first + 32, fibers_.size()), State::in_shuffle);
    bool stuck = true, ended = true;
    for (const Fiber& fiber : fibers_) {
      stuck = stuck && fiber.state != State::ready;
      ended = ended && fiber.state == State::ended;
    }
    EXPECT_TRUE(ended || !stuck) << "threads of a block wait for others that do not come";
  }

  void release_if_met(size_t first, size_t last, State state) {
    for (size_t t = first; t < last; ++t)
      if (fibers_[t].state != state) return;
    for (size_t t = first; t < last; ++t) fibers_[t].state = State::ready;
  }

  /// Counts a thread that comes to a named barrier; true if it was the last.
  bool come(int barrier, int threads) {
    int& come = come_[size_t(barrier)];
    if (++come < threads) return false;
    EXPECT_EQ(come, threads);
    come = 0;
    for (Fiber& fiber : fibers_)
      if (fiber.state == State::in_meeting && fiber.barrier == barrier) fiber.state = State::ready;
    return true;
  }

  void meet(int thread, int barrier, int threads) {
    if (come(barrier, threads)) return;
    fibers_[size_t(thread)].barrier = barrier;
    wait(thread, State::in_meeting);
  }

  void finish_copies(int thread, size_t pending) {
    auto& groups = fibers_[size_t(thread)].pending;
    for (; groups.size() > pending; groups.pop_front())
      for (const Copy& copy : groups.front()) std::memcpy(copy.to, copy.from, copy.bytes);
  }

  void wait(int thread, State state) {
    Fiber& fiber = fibers_[size_t(thread)];
    fiber.state = state;
    if (_setjmp(fiber.resumed) == 0) _longjmp(scheduler_, 1);
  }

  int64_t index_;
  std::vector<float> shared_;
  Code code_;
  std::vector<Fiber> fibers_;
  std::vector<Slot> slots_;
  std::array<int, 16> come_{};  ///< threads at each named barrier
  jmp_buf scheduler_;
};

inline int64_t HostBlockThread::index() const { return block_.index_; }
inline float* HostBlockThread::shared() const { return block_.shared_.data(); }
inline void HostBlockThread::sync() const { block_.wait(thread_, HostBlock::State::in_sync); }
inline void HostBlockThread::meet(int barrier, int threads) const {
  block_.meet(thread_, barrier, threads);
}
inline void HostBlockThread::arrive(int barrier, int threads) const {
  block_.come(barrier, threads);
}
inline void HostBlockThread::copy_async(void* to, const void* from, size_t bytes) const {
  std::memset(to, 0x7f, bytes);
  block_.fibers_[size_t(thread_)].copies.push_back({to, from, bytes});
}
inline void HostBlockThread::commit_copies() const {
  HostBlock::Fiber& fiber = block_.fibers_[size_t(thread_)];
  fiber.pending.push_back(std::exchange(fiber.copies, {}));
}
template <int kPending>
void HostBlockThread::wait_copies() const {
  block_.finish_copies(thread_, kPending);
}
template <class Value>
Value HostBlockThread::shuffle(Value value, int source) const {
  const int turn = block_.fibers_[size_t(thread_)].turn ^= 1;
  block_.slots_[size_t(thread_)].value[turn] = value;
  block_.wait(thread_, HostBlock::State::in_shuffle);
  return Value(block_.slots_[size_t(warp() * 32 + source)].value[turn]);
}

}  // namespace zero::testing
