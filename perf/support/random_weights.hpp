#pragma once

#include <vector>

#include "zero/graph/graph.hpp"
#include "zero/kernels/initialise.hpp"

namespace zero::perf {

/// Fills a decoder or a writer of texts with the initial weights of seed 1.
template <class Reader>
void fill(Reader& reader) {
  const graph::Graph& graph = reader.graph();
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const graph::Parameter& parameter = graph.parameters[p];
    std::vector<float> values(size_t(parameter.real_numel),
                              parameter.init == graph::Init::ones ? 1.0f : 0.0f);
    if (parameter.init == graph::Init::normal) {
      kernels::initial_normals(1, uint32_t(p), 0, values);
      for (size_t i = 0; i < values.size(); ++i) values[i] *= parameter.deviation_of(int64_t(i));
    }
    reader.set_parameter(int32_t(p), 0, values);
  }
}

}  // namespace zero::perf
