#include <algorithm>

#include "zero/plan/verify.hpp"

namespace zero::plan {
namespace {

using Clock = std::array<int32_t, kLanes>;

void raise(Clock& clock, const Clock& other) {
  for (size_t lane = 0; lane < clock.size(); ++lane)
    clock[lane] = std::max(clock[lane], other[lane]);
}

/// What has finished after each op, lane by lane.
class Finished {
 public:
  void add(const PlanOp& op, Clock clock) {
    clock[size_t(op.lane)] = op.index + 1;
    lanes_[size_t(op.lane)].push_back(clock);
  }
  Clock before(const PlanOp& op) const {
    const std::vector<Clock>& lane = lanes_[size_t(op.lane)];
    return lane.empty() ? Clock{} : lane.back();
  }
  const Clock& after(const Wait& wait) const {
    return lanes_[size_t(wait.lane)][size_t(wait.count) - 1];
  }

 private:
  std::array<std::vector<Clock>, kLanes> lanes_;
};

}  // namespace

int redundant_waits(const Body& body) {
  Finished finished;
  int redundant = 0;
  for (const PlanOp& op : body.ops) {
    for (const Wait& wait : op.waits) {
      Clock without = finished.before(op);
      for (const Wait& other : op.waits) {
        if (!(other == wait)) raise(without, finished.after(other));
      }
      redundant += without[size_t(wait.lane)] >= wait.count;
    }
    Clock clock = finished.before(op);
    for (const Wait& wait : op.waits) raise(clock, finished.after(wait));
    finished.add(op, clock);
  }
  return redundant;
}

}  // namespace zero::plan
