#include "zero/graph/graph.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero::graph {

TensorId Graph::input(std::string_view name) const {
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const Input& input) {
    return (*this)[input.tensor].name == name;
  });
  ZERO_REQUIRE(found != inputs.end(), "the graph has no input ", name);
  return found->tensor;
}

TensorId Graph::output(std::string_view name) const {
  const auto found = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const Output& output) { return output.name == name; });
  ZERO_REQUIRE(found != outputs.end(), "the graph has no output ", name);
  return found->tensor;
}

std::vector<int32_t> parameter_index(const Graph& graph) {
  std::vector<int32_t> index(graph.tensors.size(), kNone);
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    index[size_t(graph.parameters[p].tensor)] = int32_t(p);
  }
  return index;
}

int64_t frozen_numel(const Graph& graph) {
  int64_t numel = 0;
  for (const Parameter& parameter : graph.parameters) {
    if (parameter.frozen) numel += parameter.real_numel;
  }
  return numel;
}

int32_t first_backward_op(const Graph& graph) {
  const auto is_backward = [](const Op& op) { return op.backward; };
  return int32_t(std::find_if(graph.ops.begin(), graph.ops.end(), is_backward) - graph.ops.begin());
}

}  // namespace zero::graph
