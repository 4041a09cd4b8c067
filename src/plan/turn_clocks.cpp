#include "src/plan/turn_clocks.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero::plan {

TurnClocks::TurnClocks(const Body& body) : body_(body), rounds_(body, 1) {}

std::string TurnClocks::describe(int32_t i) const {
  const PlanOp& op = this->op(i);
  return text(body_.name, " op ", turn(i).op, " (", name_of(op.kind), " on ", name_of(op.lane),
              " lane, unit ", op.unit, ", graph op ", op.graph_op, ", micro-batch ", micro(i), ")");
}

std::string TurnClocks::add(const Turn& turn) {
  const int32_t i = int32_t(turns_.size());
  const PlanOp& op = body_.ops[size_t(turn.op)];
  std::vector<int32_t>& own = of_lane_[size_t(op.lane)];
  turns_.push_back(turn);
  number_.push_back(rounds_.number(op, turn));
  Clock clock = known_[size_t(op.lane)];
  for (const Wait& wait : op.waits) {
    const std::vector<int32_t>& other = of_lane_[size_t(wait.lane)];
    const int64_t count = rounds_.awaited(wait, turn);
    if (count < 1 || count > int64_t(other.size())) {
      return text(describe(i), " waits for op ", count, " of the ", name_of(wait.lane),
                  " lane, which does not come before it");
    }
    const Clock theirs = finished(other[size_t(count) - 1]);
    for (size_t l = 0; l < clock.size(); ++l) clock[l] = std::max(clock[l], theirs[l]);
  }
  started_.push_back(clock);
  if (number_.back() != int64_t(own.size()) + 1) {
    return text(describe(i), " is numbered ", number_.back() - 1, " in its lane");
  }
  own.push_back(i);
  known_[size_t(op.lane)] = finished(i);
  return "";
}

TurnClocks::Clock TurnClocks::finished(int32_t i) const {
  Clock clock = started_[size_t(i)];
  clock[size_t(op(i).lane)] = number_[size_t(i)];
  return clock;
}

void TurnClocks::mark_seam() {
  last_counts_ = counts_;
  for (size_t lane = 0; lane < counts_.size(); ++lane) {
    counts_[lane] = int64_t(of_lane_[lane].size());
  }
}

// Waits of a round reach back to the round before at most, so of what is older only those lanes
// that know of it now make a difference.
int64_t TurnClocks::seen_from_seam(int32_t i) const {
  if (i < 0) return 0;
  const size_t lane = size_t(op(i).lane);
  const int64_t since = number_[size_t(i)] - last_counts_[lane];
  if (since > 0) return since * kLanes + int64_t(lane) + 1;
  int64_t lanes = 0;
  for (size_t other = 0; other < known_.size(); ++other) {
    if (known_[other][lane] >= number_[size_t(i)]) lanes |= int64_t(1) << other;
  }
  return -1 - lanes;
}

void TurnClocks::add_knowledge(std::vector<int64_t>& key) const {
  for (size_t lane = 0; lane < known_.size(); ++lane) {
    if (rounds_.inside(Lane(lane)) == 0) continue;  // what it knows does not change
    for (size_t other = 0; other < known_.size(); ++other) {
      key.push_back(std::max<int64_t>(0, known_[lane][other] - last_counts_[other]));
    }
  }
}

}  // namespace zero::plan
