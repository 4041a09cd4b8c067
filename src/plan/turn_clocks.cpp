#include <algorithm>

#include "src/plan/verify_parts.hpp"
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
    if (reaches_too_far(wait, turn)) {
      return text(describe(i), " waits for an op of the ", name_of(wait.lane),
                  " lane that is more than a round ago");
    }
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

/// True if an op of a loop waits for an op older than the previous round. The induction over rounds
/// covers no such wait.
bool TurnClocks::reaches_too_far(const Wait& wait, const Turn& turn) const {
  const int32_t inside = rounds_.inside(wait.lane);
  return rounds_.is_in_loop(turn.op) && inside > 0 &&
         wait.count + inside <= rounds_.before(wait.lane);
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

// Appends the distance of a turn, or its witnesses. A wait reaches back at most to the previous
// round. Older turns therefore matter only through the ops of that round that know they have
// finished. Later ops of a lane know all that earlier ones know.
void TurnClocks::add_seen(int32_t i, std::vector<int64_t>& key) const {
  if (i < 0) return key.push_back(0);
  const size_t lane = size_t(op(i).lane);
  const int64_t since = number_[size_t(i)] - last_counts_[lane];
  if (since > 0) {
    key.insert(key.end(), {1, int64_t(lane), since});
    return;
  }
  key.insert(key.end(), {2, int64_t(lane)});
  const auto is_ignorant = [&](int32_t turn) { return !happens_before(i, turn); };
  for (size_t other = 0; other < known_.size(); ++other) {
    const auto first = of_lane_[other].begin() + ptrdiff_t(last_counts_[other]);
    const auto knows = std::partition_point(first, of_lane_[other].end(), is_ignorant);
    const bool nobody = known_[other][lane] < number_[size_t(i)];
    key.push_back(nobody ? -1 : knows - first);
  }
}

void TurnClocks::add_knowledge(std::vector<int64_t>& key) const {
  for (size_t lane = 0; lane < of_lane_.size(); ++lane) {
    const std::vector<int32_t>& own = of_lane_[lane];
    for (size_t at = size_t(last_counts_[lane]); at < own.size(); ++at) {
      const Clock& started = started_[size_t(own[at])];
      for (size_t other = 0; other < started.size(); ++other) {
        key.push_back(std::max<int64_t>(0, started[other] - last_counts_[other]));
      }
    }
  }
}

}  // namespace zero::plan
