#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "src/run/bound_op.hpp"
#include "src/run/crew.hpp"
#include "src/run/segments.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {

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

struct LaneSetup {
  plan::Lane lane;
  int threads;
  comm::Communicator* comm;
  tiers::DiskTier* disk;
  size_t rows;  ///< of the profile
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
  LaneBody::Pass next_ = {};  ///< the one behind them
  double last_end_ = 0;       ///< when the last of them ended
  std::thread thread_;
  Count begun_, ended_;
  int32_t turn_ = 0;
  plan::BodyId body_ = plan::kStep;
};

}  // namespace zero::run
