#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "src/run/bound_op.hpp"
#include "src/run/lane_segments.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {

/// A number on which other threads sleep. They sleep on a bell beside it, because Linux lets
/// threads sleep on 32 bits only and a step may have more ops.
class Count {
 public:
  /// Sets the value without waking. REQUIRES: no thread waits for it.
  void set(int64_t value) { value_.store(value, std::memory_order_release); }
  /// Sets the value and wakes waiting threads.
  void publish(int64_t value) {
    set(value);
    bell_.fetch_add(1, std::memory_order_acq_rel);
    bell_.notify_all();
  }
  /// Blocks until the value is at least `least`. The caller then sees all writes from before
  /// publish(). The wait spins briefly and then sleeps, so a lane leaves its core to the kernels'
  /// threads.
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

/// The first error of any lane. Thread-safe.
class Failure {
 public:
  /// Keeps the first error. Calls `hook` on it once all lanes can see it.
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
  /// REQUIRES: no lane runs.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> raised_{false};
};

/// The shared state of one executor's lanes: counts to wait for, and the first error.
struct Crew {
  /// The count of a lane that has stopped early. Waiting lanes go on and see the failure.
  static constexpr int64_t kStopped = INT64_MAX;

  std::array<Count, plan::kLanes> finished;  ///< ops of the running body
  Count collectives;                         ///< queued collectives, if in one order
  std::array<LaneTimes, plan::kLanes> times;
  std::array<LaneProgress, plan::kLanes> progress;
  std::array<OpTime*, plan::kLanes> op_times{};  ///< times of the running body; null: no trace
  const Event* inputs_there = nullptr;           ///< each lane's stream holds for it first
  Moment origin;                                 ///< begin of the running body, on the device
  OpTime::Clock::time_point origin_time;         ///< begin of the running body, on this host
  std::function<void(Stream&)> at_end;           ///< called when compute has queued all its work
  int64_t step = 0;                              ///< step of the running body's inputs
  std::atomic<plan::BodyId> body{plan::kStep};   ///< the running body, or the last
  Failure failure;
  std::atomic<bool> closing{false};
  std::function<void(plan::Lane, const plan::PlanOp&)> op_hook;
  std::function<void()> error_hook;

  void begin(plan::BodyId which) {
    body = which;
    for (Count& count : finished) count.set(0);
    collectives.set(0);
  }
  /// Lets lanes that wait for `lane` go on and see the failure.
  void stop(plan::Lane lane) {
    finished[size_t(lane)].publish(kStopped);
    collectives.publish(kStopped);
  }

  OpTime::Clock::time_point time_at(double seconds) const {
    return origin_time +
           std::chrono::round<OpTime::Clock::duration>(std::chrono::duration<double>(seconds));
  }
};

struct LaneOp {
  BoundOp bound;
  int32_t place;  ///< index in body.ops
  int32_t row;    ///< index in the profile
  Phase phase;
  std::string region = {};  ///< name for a tool; "" if none listens
};

struct LaneTally {
  double seconds = 0;
  int64_t calls = 0;
};

/// True if a lane's kernels share the rank's cores. Other lanes wait for memory, a disk or peers.
bool computes(plan::Lane lane);

/// Returns high for collective lanes, because peers wait for them and their kernels should not
/// queue behind products.
Priority priority_of(plan::Lane lane);

struct LaneSetup {
  plan::Lane lane = plan::Lane::compute;
  int threads = 1;
  TeamComms comms = {};
  tiers::DiskTier* disk = nullptr;
  size_t rows = 0;  ///< rows of the profile
  std::array<std::vector<LaneOp>, plan::kBodies> ops;
  LaneSegments segments;
};

/// A lane of one executor: its ops of each body, its stream and its thread, which sleeps between
/// bodies. The caller's thread runs one lane.
class LaneRunner {
 public:
  /// REQUIRES: `crew` outlives the runner.
  LaneRunner(Crew& crew, LaneSetup setup);
  /// Ends the thread. REQUIRES: no body runs.
  ~LaneRunner();
  LaneRunner(const LaneRunner&) = delete;
  LaneRunner& operator=(const LaneRunner&) = delete;

  bool has_ops(plan::BodyId body) const { return !setup_.ops[body].empty(); }

  /// Makes the kernels of products of all ops for the calling thread. If the system refuses a
  /// library memory for code, it does so here and not in a step.
  void prepare();
  /// Runs the ops that a device should run once before the first step (Rehearsal), on the calling
  /// thread. Blocks until done.
  void rehearse();
  /// Runs a body on the calling thread and blocks until its work is done. Errors go to the crew.
  void run(plan::BodyId body) noexcept;
  /// Replaces the segments of the ops. REQUIRES: no body runs.
  void set_segments(LaneSegments segments) { setup_.segments = std::move(segments); }

  /// Starts the thread to which begin() hands bodies.
  void launch();
  void begin(plan::BodyId body);
  /// Blocks until the last body of begin() has ended, well or not.
  void finish() const { ended_.wait_for(turn_); }

  const std::vector<LaneTally>& tallies() const { return tallies_; }
  const PhaseSeconds& phase_seconds() const { return phase_seconds_; }
  void clear_tallies();

 private:
  void serve();
  void run_segments(plan::BodyId body);
  bool takes_turns(const LaneSegment& segment) const;
  static int64_t turn_of(const LaneBody& lane, const LaneBody::Pass& pass);
  bool await(const LaneBody& lane, const LaneBody::Pass& pass);
  void run_segment(plan::BodyId body, LaneSegment& segment, int64_t round);
  void queue(LaneSegment& segment, std::span<const LaneOp> ops);
  void run_op(const LaneOp& op);
  std::span<LaneOp> ops_of(plan::BodyId body, const LaneSegment& segment);
  void show(plan::BodyId body);
  void settle(plan::BodyId body, int64_t queued);
  void settle_all(plan::BodyId body, int64_t segments);
  void tell_times(plan::BodyId body, const LaneSegment& segment);
  void tell_time(std::span<const LaneOp> ops, double seconds);

  Crew& crew_;
  LaneSetup setup_;
  Stream stream_;
  std::vector<LaneTally> tallies_;
  PhaseSeconds phase_seconds_{};
  int64_t settled_ = 0;       ///< passes of the running body whose work is done
  LaneBody::Pass next_ = {};  ///< the pass after them
  double last_end_ = 0;       ///< seconds; end of the last settled pass
  std::thread thread_;
  Count begun_, ended_;
  int32_t turn_ = 0;
  plan::BodyId body_ = plan::kStep;
};

}  // namespace zero::run
