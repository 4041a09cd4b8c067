#pragma once

#include "zero/plan/plan.hpp"

namespace zero::testing {

/// Waits that could be deleted without losing any order.
int redundant_waits(const plan::Body& body);

}  // namespace zero::testing
