#pragma once

#include "zero/graph/graph.hpp"

namespace zero::graph {

/// What linear() adds where a text is continued.
Op row_linear(TensorId x, TensorId weight, TensorId bias, TensorId y);

}  // namespace zero::graph
