#pragma once

#include <vector>

#include "zero/graph/graph.hpp"

namespace zero::graph {

enum class Recompute : uint8_t {
  none,
  selective,  ///< layer norm and GELU outputs are computed again, nothing costly (repeated_from)
  full        ///< of a block only its input is kept
};

/// Replaces what the backward pass reads by copies computed again just before it. `policy`
/// [blocks]: one choice a block; other units keep everything. An op's kind says which choices
/// repeat it (Operation::repeated_from): copies of weights with wider heads are made again whatever
/// is chosen, as they would lie beside all weights. Copies run the same kernels on the same bits
/// (dropout masks come from a counter), so gradients do not change by a bit.
Graph recompute(const Graph& graph, const std::vector<Recompute>& policy);

}  // namespace zero::graph
