#include "zero/graph/graph.hpp"

namespace zero::graph {

std::vector<int32_t> parameter_index(const Graph& graph) {
  std::vector<int32_t> index(graph.tensors.size(), kNone);
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    index[size_t(graph.parameters[p].tensor)] = int32_t(p);
  }
  return index;
}

}  // namespace zero::graph
