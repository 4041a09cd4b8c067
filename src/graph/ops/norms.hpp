#pragma once
/// Shared parts of norms of rows, with a weight a column.

#include "src/graph/ops/kinds.hpp"
#include "zero/kernels/layernorm.hpp"

namespace zero::graph {

struct NormAttributes {
  double epsilon;
};

inline kernels::NormExtents norm_extents(const Graph& graph, TensorId x) {
  const Shape& shape = graph[x].shape;
  return {.rows = shape[0], .width = shape[1]};
}

}  // namespace zero::graph
