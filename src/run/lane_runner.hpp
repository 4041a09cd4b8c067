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
#include "src/run/segments.hpp"
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

/// What the lanes of one executor share: counts to wait for, and the first error.
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

struct LaneOp {
  BoundOp bound;
  int32_t place;  ///< in body.ops
  int32_t row;    ///< of the profile
  Phase phase;
  std::string region = {};  ///< what a tool calls it; "" where none listens
};

struct LaneTally {
  double seconds = 0;
  int64_t calls = 0;
};

/// Whether its kernels share the rank's cores; the other lanes wait for memory, a disk or peers.
bool computes(plan::Lane lane);

/// Peers wait for what a lane moves between ranks, so its kernels do not queue behind products.
Priority priority_of(plan::Lane lane);

struct LaneSetup {
  plan::Lane lane = plan::Lane::compute;
  int threads = 1;
  comm::Communicator* comm = nullptr;
  tiers::DiskTier* disk = nullptr;
  size_t rows = 0;  ///< of the profile
  std::array<std::vector<LaneOp>, plan::kBodies> ops;
  LaneSegments segments;
};

/// One lane of one executor: its ops of each body, its stream, and, where it does not run on the
/// caller's thread, a thread that sleeps between bodies.
class LaneRunner {
 public:
  /// `crew` outlives the runner.
  LaneRunner(Crew& crew, LaneSetup setup);
  /// Ends the thread; no body may be running.
  ~LaneRunner();
  LaneRunner(const LaneRunner&) = delete;
  LaneRunner& operator=(const LaneRunner&) = delete;

  bool has_ops(plan::BodyId body) const { return !setup_.ops[body].empty(); }

  /// Makes, for the calling thread, the kernels of products of all its ops: what a library is
  /// refused in a step, memory for code, it is refused here.
  void prepare();
  /// Runs what a device wants to have run once before the first step (Rehearsal), on the calling
  /// thread. Returns when it is done.
  void rehearse();
  /// Runs a body on the calling thread and returns when its work is done. Errors go to the crew.
  void run(plan::BodyId body) noexcept;
  /// Other cuts of the same ops; no body may be running.
  void set_segments(LaneSegments segments) { setup_.segments = std::move(segments); }

  /// Starts the thread that begin() hands bodies to.
  void launch();
  void begin(plan::BodyId body);
  /// Returns when the body handed over last has ended, well or not.
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
  LaneBody::Pass next_ = {};  ///< the one after them
  double last_end_ = 0;       ///< when the last of them ended
  std::thread thread_;
  Count begun_, ended_;
  int32_t turn_ = 0;
  plan::BodyId body_ = plan::kStep;
};

}  // namespace zero::run
