#pragma once

#include "src/plan/findings.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Finds buffers that share bytes while both are in use. A transient one is in use from the first
/// to the last op that names it. What rests between bodies always is, also where a body writes it
/// anew: the gaps between a unit's tensors stay zero. A copy (Buffer::copy_of) is not in use
/// between the last op that names it and the one that then fills it anew.
void check_apart(const Plan& plan, BodyId body, Findings& findings);

}  // namespace zero::plan
