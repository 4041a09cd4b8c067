#pragma once

#include <string>
#include <vector>

#include "src/run/bound_op.hpp"

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

}  // namespace zero::run
