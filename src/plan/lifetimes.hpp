#pragma once

#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// From the first op that touches a buffer to the position behind which its bytes may be reused.
struct Lifetime {
  int32_t buffer;
  int32_t birth;
  int32_t death;
};

/// The lives of every transient buffer of a body, one for each time that it begins anew, and of
/// every copy (Buffer::copy_of), which lives from the start of the body and, where it is filled
/// anew, once more from there to the end. What a loop leaves for its next round ends as it does
/// behind the ops in front of the loop that are the same.
std::vector<Lifetime> find_lifetimes(const Plan& plan, const Body& body);

}  // namespace zero::plan
