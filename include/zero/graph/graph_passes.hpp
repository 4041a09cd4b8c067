#pragma once
/// Passes over a graph, in running order, and the tape for gradient rules.

#include <string>
#include <vector>

#include "zero/graph/graph.hpp"

namespace zero::graph {

/// Returns a forward graph in which the parameters that `frozen` [parameters] marks are frozen:
/// they are read but not trained. A unit that is frozen as a whole stays. Frozen parameters of
/// other units move to a new unit "<unit>.frozen", because units are updated and reduced as a
/// whole. Parameters keep their order, which determines initial values. Throws Error(kInternal) if
/// no parameter is left to train.
Graph freeze(Graph forward, const std::vector<bool>& frozen);

/// Freezes the parameters that `borrowed` marks, as freeze() does. Checkpoints do not hold the
/// frozen parameters: see Parameter::borrowed.
Graph borrow(Graph forward, const std::vector<bool>& borrowed);

/// Widens the heads of attention in a forward graph with zeros to multiples of `unit` elements, for
/// libraries that need them. Products that write or read heads get padded copies of their weights,
/// made at their use. Parameters and results stay equal. Returns the graph as it is if an op other
/// than a product is next to such attention, as a rotation is: our own kernels take heads of any
/// width.
Graph pad_heads(Graph forward, int64_t unit);

/// Returns a forward graph with its backward pass appended: each forward op, in reverse, lets its
/// kind's rule append gradient ops. The loss op ends the forward pass. Its gradient op replaces it
/// and computes both. Every trained parameter gets a gradient of its shape in the compute dtype,
/// written once before any update in place. A parameter with several uses gets their sum in
/// backward order, across units. Ops that only gradients of frozen parameters need are removed,
/// including activations' before the first trained parameter. Throws Error(kInternal) if the loss
/// does not depend on a trained parameter.
Graph differentiate(const Graph& forward);

enum class Recompute : uint8_t {
  none,
  selective,  ///< repeats cheap ops, as layer norm and GELU (repeated_from)
  full        ///< keeps only the input of a block
};

/// Returns `graph`, a result of differentiate(), in which backward reads copies of tensors,
/// recomputed just before their use. `policy` [blocks] has a choice for each block; other units
/// keep everything. Operation::repeated_from names the choices that repeat an op. Weights with
/// widened heads are always recomputed, because kept copies would add to all weights. Copies run
/// the same kernels on the same bits, with dropout masks from a counter, so gradients are equal to
/// the bit.
Graph recompute(const Graph& graph, const std::vector<Recompute>& policy);

/// Returns `graph` with two ops replaced by one where a product computes the second on the way out,
/// or a kernel already has its result. Operation::fuse and take_in define the pairs:
/// - linear and gelu become linear_gelu; linear and the addition of a residual, whose product
///   nothing else reads, linear_add;
/// - linear_input_grad and gelu_grad, whose product nothing else reads, linear_input_gelu_grad;
/// - linear_bias_grad joins the op that writes its gradient, if it is a layernorm_grad or a
///   linear_input_gelu_grad; otherwise linear_weight_grad and linear_bias_grad of one gradient
///   become linear_parameter_grad.
///
/// Run it after recompute(), because copies must be fused like their originals. The order of ops
/// stays, and unused tensors stay in the list.
///
/// Fusing changes the arithmetic: a library may not round between the two ops. Kernels that compute
/// them one after the other give the bits of the unfused graph.
Graph fuse(const Graph& graph);

/// The access of a gradient rule to the graph.
class GradientTape {
 public:
  /// Makes a tape that appends to `graph`, whose ops are the forward pass.
  explicit GradientTape(Graph& graph);

  const Graph& graph() const { return graph_; }
  /// True if `tensor`, of the forward pass, is a trained parameter or depends on one. Other
  /// gradients are not read, and an op that makes several omits them where it can.
  bool wants(TensorId tensor) const { return wanted_[size_t(tensor)]; }

  /// Returns the gradient of a tensor of the forward pass, kNone if none. It is complete for
  /// outputs of the current op, and partial for a parameter.
  TensorId gradient(TensorId tensor) const { return pending_[size_t(tensor)]; }
  /// Removes from the tape and returns the gradient collected for `tensor`, kNone if none. The
  /// rule's own op adds to it and contribute() stores the sum.
  TensorId take(TensorId tensor);
  /// Adds `gradient` to the gradient of `tensor`, by an add op unless it is the first. Does nothing
  /// if the gradient is not wanted. Throws Error(kInternal) for a parameter; use weight_gradient().
  void contribute(TensorId tensor, TensorId gradient);
  /// Returns a new activation with the shape and dtype of `tensor`, named "d(<name>)".
  TensorId like(TensorId tensor);
  /// Returns the tensor where the next op writes the gradient of `weight`, a parameter or made from
  /// one. The first op of a parameter writes the gradient itself. Others write a part that
  /// add_parts() adds. An unwanted gradient goes to an activation that is not read.
  TensorId weight_gradient(TensorId weight);
  /// Appends an op of a gradient rule to the graph.
  void append(Op op);
  /// Appends ops that add the parts of weights' gradients, after the ops of a rule, in backward
  /// order and in the compute dtype.
  void add_parts();

 private:
  struct Part {
    TensorId weight, part;
  };

  Graph& graph_;
  std::vector<bool> wanted_;  ///< [tensors] of the forward pass
  std::vector<TensorId> pending_;
  std::vector<Part> parts_;
};

}  // namespace zero::graph
