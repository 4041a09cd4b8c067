#pragma once

#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// From the first op that touches a transient buffer to the position behind which its bytes may be
/// reused.
struct Lifetime {
  int32_t buffer;
  int32_t birth;
  int32_t death;
};

/// Of every transient buffer of a body, in order of birth.
std::vector<Lifetime> find_lifetimes(const Plan& plan, const Body& body);

}  // namespace zero::plan
