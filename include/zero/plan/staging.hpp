#pragma once

#include "zero/plan/forecast.hpp"

namespace zero::plan {

/// Of units whose states are on their way so many at least, where memory holds them.
inline constexpr int kLeastStagedUnits = 4;

/// The fewest Request::staged_units, of nine tried from kLeastStagedUnits to three quarters of all,
/// with which a step takes by forecast at most 5 % longer than with the best of them: with too
/// many, reads crowd into backward. Of a disk that nobody has measured it is assumed that it takes
/// as long as compute, where depth matters most.
int staged_units_for(const Request& request, const graph::Graph& training, const Machine& machine);

}  // namespace zero::plan
