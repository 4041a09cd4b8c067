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

/// The constants of the optimizer, which kernels need beside the plan.
struct Rules {
  kernels::DecideRule decide;
  kernels::OptimizerRule optimizer;
};

/// The communicators of a lane, by team; null for teams that do not meet there.
struct TeamComms {
  TeamComms() = default;
  /// Sets the communicator of all ranks.
  TeamComms(comm::Communicator* all) : of{all} {}

  comm::Communicator* at(plan::Team team) const { return of[size_t(team)]; }
  bool any() const {
    return std::ranges::any_of(of, [](const comm::Communicator* comm) { return comm != nullptr; });
  }
  std::array<comm::Communicator*, plan::kTeams> of{};
};
/// The communicators of this rank, by lane; Lane::compute has none. The executor does not own them.
using LaneComms = std::array<TeamComms, plan::kLanes>;

/// The ranks that meet on a lane.
struct LaneTeam {
  plan::Lane lane;
  plan::Team team;
};
/// Returns the teams of plan::kCollectiveLanes. With groups, weights and gradients move within
/// groups and across them, and words among all ranks.
std::vector<LaneTeam> lane_teams(const plan::Groups& groups);

/// The disk of this rank, as two lanes and, between bodies, the host use it. The executor does not
/// own it.
struct LaneDisks {
  tiers::DiskTier* read = nullptr;
  tiers::DiskTier* write = nullptr;
};

/// A phase of a training step, in the words of DeepSpeed's wall_clock_breakdown.
enum class Phase : uint8_t {
  forward,
  backward,   ///< includes recomputed activations
  reduce,     ///< transfers and sums of gradients on their way to the optimizer
  optimizer,  ///< norm, decision and update
  gather,     ///< transfers of weights to forward and backward
  none,       ///< evaluations
  count_
};
inline constexpr int kPhases = int(Phase::count_);
const char* name_of(Phase phase);

/// The busy seconds of all lanes. Lanes overlap, so a step takes less than the sum.
using PhaseSeconds = std::array<double, kPhases>;

/// Returns the phase of a step to which an op of a body of `plan` belongs.
Phase phase_of(const plan::Plan& plan, plan::BodyId body, const plan::PlanOp& op);

/// The seconds of a lane. On a device, its own times from marks in the lanes' queues.
struct LaneTimes {
  double busy_seconds = 0;
  double wait_seconds = 0;  ///< waits for other lanes; on compute also until the last lane ends
};

/// The last op of each lane, for the watchdog. Readable from any thread at any time. On a device,
/// queued work does not count until it is done.
struct LaneProgress {
  std::atomic<int64_t> finished{0};  ///< ops since the start
  std::atomic<int64_t> running{-1};  ///< running_turn() of the op; -1: idle or waiting
};

/// Returns a turn of a body, an op and its round, as one number. turn_running() inverts it.
inline int64_t running_turn(const plan::Body& body, const plan::Turn& turn) {
  return turn.round * int64_t(body.ops.size()) + turn.op;
}
/// Returns the op and the round of a number that running_turn() made for this body.
inline plan::Turn turn_running(const plan::Body& body, int64_t running) {
  const int64_t ops = std::max<int64_t>(1, int64_t(body.ops.size()));
  return {.op = int32_t(running % ops), .round = running / ops};
}

/// The begin and end of a body or an op, on this host's steady clock.
struct OpTime {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin, end;
};

/// A body that ran while a trace was kept. On a device the times are the device's.
struct TracedBody {
  plan::BodyId body;
  int64_t step;  ///< step of the body's inputs
  OpTime whole;
  std::array<std::span<const OpTime>, plan::kLanes> ops;  ///< [lanes], in the order of turns
};

/// Returns the kind of host memory for the arena of a plan: pinned, unless its request asks for
/// unpinned memory.
Place host_place(const plan::Plan& plan);

/// The bytes of one rank's buffers, for the host between runs.
class Buffers {
 public:
  /// True if the host may touch a buffer, by its index in the plan: not on disk, nor in device
  /// memory.
  virtual bool on_host(int32_t buffer) const = 0;
  /// Returns this rank's bytes of a buffer. Throws Error unless the host may touch it.
  virtual std::span<std::byte> bytes(int32_t buffer) = 0;
  /// Returns bytes() of a buffer as elements of type T.
  template <class T>
  std::span<T> values(int32_t buffer) {
    const std::span<std::byte> raw = bytes(buffer);
    return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
  }
  /// Reads a stretch of a buffer on any tier, from `offset` on, to `out`. write() writes `in`
  /// there. Complete on return. Thread-safe for stretches that do not overlap. Throws Error(kIo) if
  /// a disk fails. Reading the step state waits for nothing, because each body copies it to the
  /// host.
  virtual void read(int32_t buffer, int64_t offset, std::span<std::byte> out) = 0;
  virtual void write(int32_t buffer, int64_t offset, std::span<const std::byte> in) = 0;
  /// Calls fill_all(elements) with room for the `numel` elements of a buffer on any tier. The next
  /// run sees them. REQUIRES: fill_all writes all of them.
  template <class T, class Fill>
  void fill(int32_t buffer, int64_t numel, const Fill& fill_all) {
    fill_bytes(buffer, numel * int64_t(sizeof(T)), [&](std::span<std::byte> raw) {
      fill_all(std::span(reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)));
    });
  }
  /// Returns the memory of this rank on a tier.
  virtual const Arena& arena(plan::Tier tier) const = 0;

 protected:
  ~Buffers() = default;

 private:
  virtual void fill_bytes(int32_t buffer, int64_t bytes,
                          const std::function<void(std::span<std::byte>)>& fill_all) = 0;
};

/// An executor that replays a plan on one rank. Each lane with ops is a thread with its own Stream
/// and an atomic count of finished ops. A wait is a comparison with that count. Nothing is
/// allocated after construction, and a body's ops run exactly as verified.
class Executor {
 public:
  /// Makes an executor of `plan` for this rank. Takes the arenas and writes the plan's constants.
  /// Resolves every operand to its address or its place on disk. Makes the kernels of products for
  /// the calling thread. `rules` hold the optimizer's constants. `device`, unless empty, is memory
  /// for the plan's bytes on the device and keeps its content. A plan without bytes on disk needs
  /// no disks. REQUIRES: `plan`, `comms` and `disks` outlive the executor.
  Executor(const plan::Plan& plan, const Rules& rules, const LaneComms& comms,
           const LaneDisks& disks = {}, Arena device = {});
  ~Executor();

  /// Lets collectives of several ranks reach the device's memory without copies of their own, if
  /// they can (comm::Communicator::open_window). Collective. REQUIRES: no body has run.
  void open_windows();

  /// Runs one body of the plan and blocks until every lane is idle. Copies `inputs` to the device
  /// first, to those of the body's graph. Runs kReadAhead before a training body if buffers() has
  /// changed the source of a copy. Rethrows the error of a lane after the other lanes have stopped
  /// waiting. The executor is then unusable.
  void run(plan::BodyId body, const kernels::StepInputs& inputs);
  /// Sets the form (plan::Plan::form()) of a graph of the plan in which micro-batch number `micro`
  /// of this rank runs from now on. The longest is the default. REQUIRES: no body runs.
  void choose_form(int32_t graph, int64_t micro, size_t form);
  /// Runs kDecode or kPrefill with these inputs and blocks until every lane is idle. Keeps no trace
  /// of them.
  void run_chunk(plan::BodyId body, const kernels::DecodeInputs& inputs);

  /// Returns the bytes of this rank's buffers. They live as long as the executor.
  Buffers& buffers();
  /// Returns the window to the bytes on disk, for use between runs; null if the plan keeps nothing
  /// there. The first run() calls fill(); an earlier call saves that time in the step. Call the
  /// other functions after fill(). Write through buffers(), which notes the reads for kReadAhead.
  DiskWindow* disk();

  std::span<const LaneTimes> times() const;  ///< [lanes], of the last run
  std::span<const LaneProgress> progress() const;
  plan::BodyId body() const;    ///< the running body, or the last; from any thread
  int64_t reads_ahead() const;  ///< runs of kReadAhead
  /// The seconds of one kind of op in the runs since clear_profile().
  struct Profile {
    const char* name;
    double seconds;
    int64_t calls;
  };
  /// Returns the profile of each kind of op.
  std::vector<Profile> profile() const;
  /// Returns the seconds since clear_profile() by phase of a step. Allocates nothing.
  PhaseSeconds phase_seconds() const;
  /// Begins the profile anew, with 0 seconds and calls.
  void clear_profile();

  /// Keeps the times of each op of the last `bodies` training bodies from now on, but not of
  /// evaluations. Takes the memory at once. Ops on a device are then queued one by one. REQUIRES:
  /// no body runs.
  void keep_trace(int bodies);
  /// Queues each op on a device by itself from now on and records none. A host always does so.
  /// REQUIRES: no body runs.
  void queue_one_by_one();
  /// Returns the bodies of the trace with their times, oldest first. Valid until the next run.
  /// REQUIRES: no body runs.
  std::vector<TracedBody> trace() const;

  /// Sets a hook that each lane's thread calls with its lane and op, before the op runs. In tests
  /// it may sleep.
  void set_op_hook(std::function<void(plan::Lane, const plan::PlanOp&)> hook);

  /// Sets a hook, without arguments, that the failing lane's thread calls once, as soon as an op
  /// has thrown and before run() waits for the other lanes. It should abort communicators, because
  /// a lane may be in a collective whose peers will never come.
  void set_error_hook(std::function<void()> hook);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace zero::run
