#pragma once

#include "zero/graph/graph.hpp"

namespace zero::graph {

/// Puts one op in place of two that follow each other, where a product can do the second on the way
/// out: linear and gelu become linear_gelu; linear_input_grad and gelu_grad, whose product nothing
/// else reads, linear_input_gelu_grad; linear_weight_grad and linear_bias_grad of one gradient
/// linear_parameter_grad. Behind recompute(), so that what is repeated is fused like what it
/// repeats. The order of ops stays; a tensor that no op names any more stays in the list.
///
/// It is a choice of arithmetic: a library may not round between the two. Kernels that do the two
/// one behind the other give the bits of the graph before.
Graph fuse(const Graph& graph);

}  // namespace zero::graph
