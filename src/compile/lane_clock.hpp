#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// How many ops of each lane are known to be finished.
using LaneClock = std::array<int32_t, kLanes>;

/// Adds what another clock knows.
inline void raise(LaneClock& clock, const LaneClock& other) {
  for (size_t lane = 0; lane < clock.size(); ++lane) {
    clock[lane] = std::max(clock[lane], other[lane]);
  }
}

}  // namespace zero::plan
