#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "zero/comm/communicator.hpp"
#include "zero/device/arena.hpp"
#include "zero/kernels/optimizer.hpp"
#include "zero/kernels/step_state.hpp"
#include "zero/plan/plan.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::tiers {
class DiskTier;
}

namespace zero::run {

class DiskWindow;

/// What kernels need beside the plan: constants of the optimizer.
struct Rules {
  kernels::DecideRule decide;
  kernels::OptimizerRule optimizer;
};

/// This rank's communicators, by lane; Lane::compute has none. The executor does not own them.
using LaneComms = std::array<comm::Communicator*, plan::kLanes>;

/// This rank's disk as two lanes use it, and the host between bodies. The executor does not own it.
struct LaneDisks {
  tiers::DiskTier* read = nullptr;
  tiers::DiskTier* write = nullptr;
};

/// What a training step spends its time on, in the words of DeepSpeed's wall_clock_breakdown.
enum class Phase : uint8_t {
  forward,
  backward,   ///< with the activations that are computed again
  reduce,     ///< gradients on their way to the optimizer: sent and summed
  optimizer,  ///< the norm, the decision and the update
  gather,     ///< weights, on their way to forward and backward
  none,       ///< evaluations
  count_
};
inline constexpr int kPhases = int(Phase::count_);
const char* name_of(Phase phase);

/// Busy seconds of all lanes. Lanes run beside each other, so a step takes less than the sum.
using PhaseSeconds = std::array<double, kPhases>;

/// The phase of an op of that body.
Phase phase_of(const plan::Plan& plan, plan::BodyId body, const plan::PlanOp& op);

/// On a device these are the device's times, from marks in the lanes' queues.
struct LaneTimes {
  double busy_seconds = 0;
  double wait_seconds = 0;  ///< for other lanes; of compute also until the last one has ended
};

/// The last thing each lane did, for the watchdog: readable from any thread at any time. On a
/// device what counts is what it has done, not what is queued there.
struct LaneProgress {
  std::atomic<int64_t> finished{0};  ///< ops since the start
  std::atomic<int64_t> running{-1};  ///< as running_turn() has it; -1: idle or waiting
};

/// An op of a body and its round as one number, and back.
inline int64_t running_turn(const plan::Body& body, const plan::Turn& turn) {
  return turn.round * int64_t(body.ops.size()) + turn.op;
}
inline plan::Turn turn_running(const plan::Body& body, int64_t running) {
  const int64_t ops = std::max<int64_t>(1, int64_t(body.ops.size()));
  return {.op = int32_t(running % ops), .round = running / ops};
}

/// When something began and ended, on this host's steady clock.
struct OpTime {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin, end;
};

/// One body that ran while a trace was kept. On a device the times are the device's.
struct TracedBody {
  plan::BodyId body;
  int64_t step;  ///< of its inputs
  OpTime whole;
  std::array<std::span<const OpTime>, plan::kLanes> ops;  ///< in the order of the lane's turns
};

/// The kind of host memory that a plan wants: pinned, unless its settings ask for memory that is
/// not.
Place host_place(const plan::Plan& plan);

/// The bytes of one rank's buffers, for the host between runs.
class Buffers {
 public:
  /// Whether the host may touch a buffer: not on disk, nor in the memory of a device.
  virtual bool on_host(int32_t buffer) const = 0;
  /// This rank's bytes of such a buffer. Throws Error of any other.
  virtual std::span<std::byte> bytes(int32_t buffer) = 0;
  template <class T>
  std::span<T> values(int32_t buffer) {
    const std::span<std::byte> raw = bytes(buffer);
    return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
  }
  /// A stretch of a buffer on any tier, from `offset` on; complete on return. Thread-safe for
  /// stretches that do not overlap. Throws Error(kIo) where a disk fails. A body brings the step
  /// state up with it, so that reading it waits for nothing.
  virtual void read(int32_t buffer, int64_t offset, std::span<std::byte> out) = 0;
  virtual void write(int32_t buffer, int64_t offset, std::span<const std::byte> in) = 0;
  /// Calls fill_all(elements) with the `numel` elements of a buffer wherever it lies, to be written
  /// all. The next run sees them.
  template <class T, class Fill>
  void fill(int32_t buffer, int64_t numel, const Fill& fill_all) {
    fill_bytes(buffer, numel * int64_t(sizeof(T)), [&](std::span<std::byte> raw) {
      fill_all(std::span(reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)));
    });
  }
  virtual const Arena& arena(plan::Tier tier) const = 0;

 protected:
  ~Buffers() = default;

 private:
  virtual void fill_bytes(int32_t buffer, int64_t bytes,
                          const std::function<void(std::span<std::byte>)>& fill_all) = 0;
};

/// Replays a plan on one rank. Each lane that has ops is a thread with its own Stream and an atomic
/// count of finished ops; a wait is a comparison with that count. Nothing is allocated after
/// construction, and a body's ops run exactly as verified.
class Executor {
 public:
  /// `plan`, `comms` and `disks` outlive the executor. Takes the arenas at once; resolves every
  /// operand to its address, or its place on disk, and makes the kernels of products for the
  /// calling thread. A plan without bytes on disk needs no disks. `device`, where it is not empty,
  /// is memory for the plan's bytes on the device, and holds what it held.
  Executor(const plan::Plan& plan, const Rules& rules, const LaneComms& comms,
           const LaneDisks& disks = {}, Arena device = {});
  ~Executor();

  /// Lets collectives of several ranks reach the device's memory without copies of their own, where
  /// they can (comm::Communicator::open_window). Collective; before the first run.
  void open_windows();

  /// Runs one body and returns when every lane is idle. `inputs` are copied to the device first, to
  /// those of the body's graph. Before a body that updates, kReadAhead runs by itself where
  /// buffers() have changed what copies are of. An error on a lane is rethrown here, after the
  /// other lanes have stopped waiting for it; the executor is then unusable.
  void run(plan::BodyId body, const kernels::StepInputs& inputs);
  /// The form of a graph (plan::Plan::shorter) that a micro-batch of this rank runs in from now on;
  /// the longest until one is chosen. Between runs.
  void choose_form(int32_t graph, int64_t micro, size_t form);
  /// Runs kDecode or kPrefill, of which no trace is kept.
  void run_chunk(plan::BodyId body, const kernels::DecodeInputs& inputs);

  /// This rank's bytes. They live as long as the executor.
  Buffers& buffers();
  /// What lies on disk, between runs; null where the plan keeps nothing there. The first run()
  /// fills it; ahead of it, fill() costs no step. Call the other functions after it. It is written
  /// by buffers(), which notes what kReadAhead has to read.
  DiskWindow* disk();

  std::span<const LaneTimes> times() const;  ///< [lanes], of the last run
  std::span<const LaneProgress> progress() const;
  plan::BodyId body() const;    ///< the running one, or the last; from any thread
  int64_t reads_ahead() const;  ///< how often kReadAhead has run
  /// Seconds by op kind name of the last runs since clear_profile(), for the table of where time
  /// goes.
  struct Profile {
    const char* name;
    double seconds;
    int64_t calls;
  };
  std::vector<Profile> profile() const;
  /// The same seconds by phase of a step. Allocates nothing.
  PhaseSeconds phase_seconds() const;
  void clear_profile();

  /// From now on keeps when each op of the last `bodies` training bodies ran; takes the memory for
  /// it at once. Evaluations are not kept. Between runs. On a device ops are then queued one by
  /// one.
  void keep_trace(int bodies);
  /// From now on a device is given each op by itself and records none. Between runs; a host does
  /// that anyway.
  void queue_one_by_one();
  /// What is kept, the oldest first; between runs, and valid until the next one.
  std::vector<TracedBody> trace() const;

  /// Called on the lane's thread before each op. In tests it may sleep.
  void set_op_hook(std::function<void(plan::Lane, const plan::PlanOp&)> hook);

  /// Called once, on the failing lane's thread, as soon as an op has thrown and before run() waits
  /// for the other lanes. It is the place to abort communicators, since a lane may be in a
  /// collective whose peers will now never come.
  void set_error_hook(std::function<void()> hook);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace zero::run
