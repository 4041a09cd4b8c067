#pragma once
/// Names of the times of ops, and a ring with the times of the last bodies. Private to this room.

#include <array>
#include <string>
#include <vector>

#include "src/run/bound_op.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {

/// Returns the graph's kind of a compute op, the plan's kind of another.
const char* name_of(const BoundOp& op);

/// Returns "adam h.3" or "linear h.2". Other lanes than compute have their name in front, or "" if
/// the process has one stack of regions.
std::string region_of(const BoundOp& op);

/// The rows of the profile: one per name of a plan's kinds.
class ProfileRows {
 public:
  static constexpr int32_t kSegments = 0;  ///< several ops that are timed as one

  int32_t of(const BoundOp& op);
  const std::vector<const char*>& names() const { return names_; }

 private:
  std::vector<const char*> names_{"recorded segments"};
};

/// The begin and end of every op of the last bodies, in memory that is taken before the first.
class TraceRing {
 public:
  /// Takes room for the last `bodies` training bodies of `plan`. REQUIRES: `plan` outlives the
  /// ring.
  TraceRing(const plan::Plan& plan, int bodies);

  /// The memory for a lane's op times of a body, in the order of its turns. Null for an evaluation,
  /// whose many bodies would push the training steps out.
  using Notes = std::array<OpTime*, plan::kLanes>;
  Notes begin(plan::BodyId body, int64_t step);
  /// Ends the body's record. REQUIRES: every lane has ended the body.
  void end(plan::BodyId body);

  /// Returns the bodies that have ended, oldest first.
  std::vector<TracedBody> bodies() const;

 private:
  struct Slot {
    plan::BodyId body;
    int64_t step;
    OpTime whole;
    std::array<std::vector<OpTime>, plan::kLanes> ops;
  };
  Slot& current() { return slots_[ended_ % slots_.size()]; }

  std::array<std::array<size_t, plan::kLanes>, plan::kBodies> counts_{};  ///< ops by body and lane
  std::vector<Slot> slots_;
  size_t ended_ = 0;
};

}  // namespace zero::run
