#include "src/run/unit_slice.hpp"

#include <algorithm>

namespace zero::run {

std::vector<kernels::TensorSegment> tensor_segments(const graph::Graph& graph,
                                                    const UnitSlice& slice, float decay) {
  std::vector<kernels::TensorSegment> segments;
  for (size_t i = 0; i < slice.unit.placements.size(); ++i) {
    const plan::Placement& placement = slice.unit.placements[i];
    const int64_t begin = std::max(placement.begin - slice.begin, int64_t(0));
    const int64_t end = std::min(placement.begin + placement.numel - slice.begin, slice.numel);
    if (begin >= end) continue;
    const bool decays = graph.parameters[size_t(placement.parameter)].decays;
    segments.push_back(
        {.begin = begin, .end = end, .weight_decay = decays ? decay : 0.0f, .tensor = int32_t(i)});
  }
  return segments;
}

std::vector<kernels::OptimizerSegment> joined_segments(const graph::Graph& graph,
                                                       const UnitSlice& slice, float decay) {
  std::vector<kernels::OptimizerSegment> joined;
  for (const kernels::TensorSegment& part : tensor_segments(graph, slice, decay)) {
    const bool touches = !joined.empty() && joined.back().end == part.begin &&
                         joined.back().weight_decay == part.weight_decay;
    if (touches) {
      joined.back().end = part.end;
    } else {
      joined.push_back({part.begin, part.end, part.weight_decay});
    }
  }
  return joined;
}

}  // namespace zero::run
