#pragma once

#include <algorithm>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Gives ops of other lanes time to run beside compute: those of a group keep their bytes until
/// some further groups have been written. Their number is how many are in flight at once, less one.
class Slack {
 public:
  explicit Slack(int further) : further_(size_t(further)) {}

  void begin(int32_t position) { groups_.push_back({position, position}); }
  void end(int32_t position) { groups_.back().end = position; }

  /// After the body's last op.
  void apply(std::vector<PlanOp>& ops) const {
    for (size_t g = 0; g < groups_.size(); ++g) {
      const size_t next = g + 1 + further_;
      const int32_t free = next <= groups_.size() - 1 ? groups_[next].begin : int32_t(ops.size());
      for (int32_t i = groups_[g].begin; i < groups_[g].end; ++i) {
        PlanOp& op = ops[size_t(i)];
        if (op.lane != Lane::compute) op.done_by = std::max(op.done_by, free - 1);
      }
    }
  }

 private:
  struct Group {
    int32_t begin, end;  ///< positions in the body
  };
  size_t further_;
  std::vector<Group> groups_;
};

}  // namespace zero::plan
