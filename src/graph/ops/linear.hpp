#pragma once

#include "zero/graph/graph.hpp"

namespace zero::graph {

/// The gradient of a bias that `op` makes as the sum over the rows of dy; kNone where it does
/// something else. What writes dy may give it in passing.
TensorId sum_over_rows(const Op& op, TensorId dy);

}  // namespace zero::graph
