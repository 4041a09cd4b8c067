#include "tests/support/redundant_waits.hpp"

#include "src/compile/passes.hpp"

namespace zero::testing {
namespace {

using plan::LaneClock, plan::PlanOp, plan::Wait, plan::raise;

/// What has finished after each op, lane by lane.
class Finished {
 public:
  void add(const PlanOp& op, LaneClock clock) {
    clock[size_t(op.lane)] = op.index + 1;
    lanes_[size_t(op.lane)].push_back(clock);
  }
  LaneClock before(const PlanOp& op) const {
    const std::vector<LaneClock>& lane = lanes_[size_t(op.lane)];
    return lane.empty() ? LaneClock{} : lane.back();
  }
  const LaneClock& after(const Wait& wait) const {
    return lanes_[size_t(wait.lane)][size_t(wait.count) - 1];
  }

 private:
  std::array<std::vector<LaneClock>, plan::kLanes> lanes_;
};

}  // namespace

int redundant_waits(const plan::Body& body) {
  Finished finished;
  int redundant = 0;
  for (const PlanOp& op : body.ops) {
    for (const Wait& wait : op.waits) {
      LaneClock without = finished.before(op);
      for (const Wait& other : op.waits) {
        if (!(other == wait)) raise(without, finished.after(other));
      }
      redundant += without[size_t(wait.lane)] >= wait.count;
    }
    LaneClock clock = finished.before(op);
    for (const Wait& wait : op.waits) raise(clock, finished.after(wait));
    finished.add(op, clock);
  }
  return redundant;
}

}  // namespace zero::testing
