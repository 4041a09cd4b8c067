#pragma once

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/run/bound_op.hpp"
#include "src/run/crew.hpp"
#include "zero/device/event.hpp"
#include "zero/run/phases.hpp"

namespace zero::run {

struct LaneOp {
  BoundOp bound;
  int32_t place;  ///< in body.ops
  int32_t row;    ///< of the profile
  Phase phase;
  std::string region = {};  ///< what a tool calls it; "" where none listens
  /// The end of this op, where another lane waits for exactly it.
  std::unique_ptr<Event> done = {};
  std::vector<const Event*> holds = {};  ///< of the ops that this one waits for
};

struct LaneTally {
  double seconds = 0;
  int64_t calls = 0;
};

/// Whether its kernels share the rank's cores; the other lanes wait for memory, a disk or peers.
bool computes(plan::Lane lane);

struct LaneSetup {
  plan::Lane lane;
  int threads;
  comm::Communicator* comm;
  tiers::DiskTier* disk;
  std::array<std::vector<LaneOp>, plan::kBodies> ops;
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

  /// Runs a body on the calling thread. Errors go to the crew.
  void run(plan::BodyId body) noexcept;

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
  bool await(const LaneOp& op);
  void run_ops(plan::BodyId body);
  void run_op(const LaneOp& op, int32_t position);

  Crew& crew_;
  LaneSetup setup_;
  Stream stream_;
  std::vector<LaneTally> tallies_;
  PhaseSeconds phase_seconds_{};
  std::thread thread_;
  Count begun_, ended_;
  int32_t turn_ = 0;
  plan::BodyId body_ = plan::kStep;
};

}  // namespace zero::run
