#pragma once

#include "zero/graph/graph.hpp"

namespace zero::graph {

/// y = a + b, where y may be a.
Op addition(TensorId a, TensorId b, TensorId y);

}  // namespace zero::graph
