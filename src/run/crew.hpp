#pragma once
/// What the lanes of one executor share: counts to wait for, and the first error.

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

#include "zero/device/stream.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {

/// A number that other threads sleep for. They sleep for a bell beside it, since Linux lets threads
/// sleep for 32 bits only and a step may have more ops.
class Count {
 public:
  /// No thread waits for this value.
  void set(int64_t value) { value_.store(value, std::memory_order_release); }
  /// Sets it and wakes whoever waits.
  void publish(int64_t value) {
    set(value);
    bell_.fetch_add(1, std::memory_order_acq_rel);
    bell_.notify_all();
  }
  /// Returns when the value is at least `least`, with everything that was written before it was
  /// published. std::atomic::wait looks a few times and then sleeps, so a waiting lane leaves its
  /// core to the kernels' threads.
  void wait_for(int64_t least) const {
    while (true) {
      const int32_t rung = bell_.load(std::memory_order_acquire);
      if (value_.load(std::memory_order_acquire) >= least) return;
      bell_.wait(rung, std::memory_order_acquire);
    }
  }

 private:
  alignas(64) std::atomic<int64_t> value_{0};
  std::atomic<int32_t> bell_{0};
};

/// Keeps the first error of any lane. Thread-safe.
class Failure {
 public:
  /// Calls `hook` on the first error, once it is visible to every lane.
  void report(std::exception_ptr error, const std::function<void()>& hook) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (error_) return;
      error_ = std::move(error);
      raised_.store(true, std::memory_order_release);
    }
    if (hook) hook();
  }
  bool raised() const { return raised_.load(std::memory_order_acquire); }
  /// Only when no lane runs.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> raised_{false};
};

struct Crew {
  /// The count of a lane that has stopped early: whoever waits goes on, and sees the failure.
  static constexpr int64_t kStopped = INT64_MAX;

  std::array<Count, plan::kLanes> finished;  ///< ops of the running body
  Count collectives;                         ///< of the running body: queued, where in one order
  std::array<LaneTimes, plan::kLanes> times;
  std::array<LaneProgress, plan::kLanes> progress;
  std::array<OpTime*, plan::kLanes> op_times{};  ///< of the running body; null: no trace is kept
  const Event* inputs_there = nullptr;           ///< every lane's stream holds for it first
  Moment origin;                                 ///< when the running body began, on the device
  OpTime::Clock::time_point origin_time;         ///< and on this host
  std::function<void(Stream&)> at_end;           ///< called when compute has queued all its work
  int64_t step = 0;                              ///< of the running body's inputs
  std::atomic<plan::BodyId> body{plan::kStep};   ///< the running one, or the last
  Failure failure;
  std::atomic<bool> closing{false};
  std::function<void(plan::Lane, const plan::PlanOp&)> op_hook;
  std::function<void()> error_hook;

  void begin(plan::BodyId which) {
    body = which;
    for (Count& count : finished) count.set(0);
    collectives.set(0);
  }
  /// Lets whoever waits for the lane go on, and see the failure.
  void stop(plan::Lane lane) {
    finished[size_t(lane)].publish(kStopped);
    collectives.publish(kStopped);
  }

  OpTime::Clock::time_point time_at(double seconds) const {
    return origin_time +
           std::chrono::round<OpTime::Clock::duration>(std::chrono::duration<double>(seconds));
  }
};

}  // namespace zero::run
