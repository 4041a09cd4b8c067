#pragma once
/// Begin and end of every op of the last bodies, in memory that is taken before the first of them.
/// Private to this room.

#include <array>
#include <vector>

#include "zero/run/executor.hpp"

namespace zero::run {

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
