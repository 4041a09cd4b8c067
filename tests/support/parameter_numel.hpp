#pragma once

#include "zero/graph/graph.hpp"

namespace zero::graph {

/// Elements of all parameters, padding of the tensors themselves included.
inline int64_t parameter_numel(const Graph& graph) {
  int64_t numel = 0;
  for (const Parameter& parameter : graph.parameters)
    numel += graph[parameter.tensor].shape.numel();
  return numel;
}

}  // namespace zero::graph
