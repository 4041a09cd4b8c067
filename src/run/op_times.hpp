#pragma once
/// Under which names the times of ops are counted, and a ring of those of the last bodies. Private
/// to this room.

#include <array>
#include <string>
#include <vector>

#include "src/run/bound_op.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {

/// A compute op is called by the graph's kind, another one by the plan's.
const char* name_of(const BoundOp& op);

/// "adam h.3", "linear h.2"; other lanes' begin with the lane. Where a process has one stack of
/// regions only the compute lane has any.
std::string region_of(const BoundOp& op);

/// Rows of the table of where time goes: one for each name of a kind that a plan has.
class ProfileRows {
 public:
  static constexpr int32_t kSegments = 0;  ///< several ops that are timed as one

  int32_t of(const BoundOp& op);
  const std::vector<const char*>& names() const { return names_; }

 private:
  std::vector<const char*> names_{"recorded segments"};
};

/// Begin and end of every op of the last bodies, in memory that is taken before the first of them.
class TraceRing {
 public:
  /// Room for the last `bodies` training bodies of `plan`, which outlives the ring.
  TraceRing(const plan::Plan& plan, int bodies);

  /// Where each lane is to note the ops of a body that now begins, in the order of its turns; null
  /// for an evaluation, whose many bodies would push the training steps out.
  using Notes = std::array<OpTime*, plan::kLanes>;
  Notes begin(plan::BodyId body, int64_t step);
  /// Every lane has ended that body.
  void end(plan::BodyId body);

  /// The bodies that have ended, the oldest first.
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
