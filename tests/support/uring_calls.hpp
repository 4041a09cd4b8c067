#pragma once
/// Stands in front of io_uring_submit(): the kernel takes few blocks or none.

#include <limits>

namespace zero::testing_support {

struct SubmitPlan {
  static constexpr int kAll = std::numeric_limits<int>::max();
  int most = kAll;   ///< entries that a call hands over
  int before = 0;    ///< calls that pass before the first refusal
  int refusals = 0;  ///< calls that then hand over none
  int error = 0;     ///< what these return, as -errno
  int calls = 0;     ///< so far
};
extern SubmitPlan submit_plan;

}  // namespace zero::testing_support
