#pragma once

#include "zero/graph/graph.hpp"

namespace zero::graph {

/// Puts one op in place of two where a product can do the second on the way out, or a kernel has
/// what the second would read again. Kinds say what joins them (Operation::fuse, take_in):
/// - linear and gelu become linear_gelu; linear and the addition of a residual, whose product
///   nothing else reads, linear_add;
/// - linear_input_grad and gelu_grad, whose product nothing else reads, linear_input_gelu_grad;
/// - linear_bias_grad joins the op that writes its gradient, where that is a layernorm_grad or a
///   linear_input_gelu_grad; elsewhere linear_weight_grad and linear_bias_grad of one gradient
///   become linear_parameter_grad.
/// Behind recompute(), so that what is repeated is fused like what it repeats. The order of ops
/// stays; a tensor that no op names any more stays in the list.
///
/// It is a choice of arithmetic: a library may not round between the two. Kernels that do the two
/// one behind the other give the bits of the graph before.
Graph fuse(const Graph& graph);

}  // namespace zero::graph
