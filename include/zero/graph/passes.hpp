#pragma once
/// The passes over a graph, in the order in which they run, and the tape of gradient rules.

#include <string>
#include <vector>

#include "zero/graph/graph.hpp"

namespace zero::graph {

/// Freezes parameters, [parameters] of which `frozen` says which: they are read and never trained.
/// A unit of which all are frozen stays whole; those of any other move to a unit of their own,
/// "<unit>.frozen", as units are updated and reduced whole. Parameters keep their places in the
/// list, and so their initial values. Throws Error(kInternal) if nothing is left to train.
Graph freeze(Graph forward, const std::vector<bool>& frozen);

/// Widens the heads of attention to multiples of `unit` elements, as a library of attention wants
/// them. Products that make heads, or read them, get copies of their weights in which each head
/// ends with zeros; the copies are made where they are used. Parameters stay as they are, and so
/// does every number. Throws Error(kInternal) where another op than a product stands beside
/// attention.
Graph pad_heads(Graph forward, int64_t unit);

/// Appends the backward pass: walks the forward ops in reverse and lets each kind's rule append its
/// gradient ops. The loss, last in the forward pass, gives way to its gradient op, which computes
/// both in one pass. Every trained parameter gets a gradient tensor of its own shape in the compute
/// dtype, written exactly once before anything updates it. A parameter that is used several times
/// gets the sum in the order of the backward pass, whatever units the uses are in. Where parameters
/// are frozen, no op is left that only their gradients would want, activations' in front of the
/// first trained parameter among them. Throws Error(kInternal) if a trained parameter is
/// unreachable from the loss.
Graph differentiate(const Graph& forward);

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

/// Puts one op in place of two where a product can do the second on the way out, or a kernel has
/// what the second would read again. Kinds say what joins them (Operation::fuse, take_in):
/// - linear and gelu become linear_gelu; linear and the addition of a residual, whose product
///   nothing else reads, linear_add;
/// - linear_input_grad and gelu_grad, whose product nothing else reads, linear_input_gelu_grad;
/// - linear_bias_grad joins the op that writes its gradient, where that is a layernorm_grad or a
///   linear_input_gelu_grad; elsewhere linear_weight_grad and linear_bias_grad of one gradient
///   become linear_parameter_grad.
/// Runs after recompute(), so that what is repeated is fused like what it repeats. The order of ops
/// stays; a tensor that no op names any more stays in the list.
///
/// It is a choice of arithmetic: a library may not round between the two. Kernels that do the two
/// one after the other give the bits of the graph before.
Graph fuse(const Graph& graph);

/// What a kind's gradient rule sees.
class GradientTape {
 public:
  explicit GradientTape(Graph& graph);

  const Graph& graph() const { return graph_; }
  /// Whether a trained parameter is, or goes into, a tensor of the forward pass. Nobody reads the
  /// gradient of another one: an op that makes several leaves it out where it can.
  bool wants(TensorId tensor) const { return wanted_[size_t(tensor)]; }

  /// The gradient of an output, complete; that of a parameter so far. kNone if there is none.
  TensorId gradient(TensorId tensor) const { return pending_[size_t(tensor)]; }
  /// Takes what has been gathered for `tensor` so far, so that the rule's own op can add it in;
  /// contribute() then sets the whole. kNone if there is none.
  TensorId take(TensorId tensor);
  /// Adds `gradient` to the gradient of `tensor`, with an add op if there is one already; nothing
  /// where nobody wants it. Throws Error(kInternal) for a parameter, whose gradient is
  /// weight_gradient().
  void contribute(TensorId tensor, TensorId gradient);
  /// A new activation like `tensor`, named "d(<name>)".
  TensorId like(TensorId tensor);
  /// What the op about to be appended writes of the gradient of a weight, which is a parameter or
  /// made from one: the gradient itself, or where an op has written it already, a part that
  /// add_parts() adds to it. Where nobody wants it, an activation that is not read.
  TensorId weight_gradient(TensorId weight);
  void append(Op op);
  /// After the ops of a rule: sums follow the order of the backward pass, in the compute dtype.
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
