#pragma once

#include "zero/graph/graph.hpp"

namespace zero::graph {

/// A kernels::TokenScore for each row of a micro-batch.
inline constexpr const char* kTokenScoresOutput = "token scores";

/// Returns a forward graph with a further output, kTokenScoresOutput, which its classifier writes.
/// Throws Error(kInternal) if the graph has no classifier. No gradient rule knows the output.
Graph score_tokens(Graph forward);

}  // namespace zero::graph
