#pragma once

#include <string>
#include <vector>

#include "zero/graph/graph.hpp"

namespace zero::graph {

/// Appends the backward pass: walks the forward ops in reverse and lets each kind's rule append its
/// gradient ops. The loss, last in the forward pass, gives way to its gradient op, which computes
/// both in one pass. Every parameter gets a gradient tensor of its own shape in the compute dtype,
/// written exactly once before anything updates it: that of one used several times is the sum in
/// the order of the backward pass, whatever units the uses are in. Throws Error(kInternal) if a
/// parameter is unreachable from the loss.
Graph differentiate(const Graph& forward);

/// What a kind's gradient rule sees.
class GradientTape {
 public:
  explicit GradientTape(Graph& graph) : graph_(graph), pending_(graph.tensors.size(), kNone) {}

  const Graph& graph() const { return graph_; }

  /// The gradient of an output, complete; that of a parameter so far. kNone if there is none.
  TensorId gradient(TensorId tensor) const { return pending_[size_t(tensor)]; }
  /// Takes what has been gathered for `tensor` so far, so that the rule's own op can add it in;
  /// contribute() then sets the whole. kNone if there is none.
  TensorId take(TensorId tensor);
  /// Adds `gradient` to the gradient of `tensor`, with an add op if there is one already. Throws
  /// Error(kInternal) for a parameter, whose gradient is weight_gradient().
  void contribute(TensorId tensor, TensorId gradient);
  /// A new activation like `tensor`, named "d(<name>)".
  TensorId like(TensorId tensor);
  /// What the op about to be appended writes of the gradient of a weight, which is a parameter or
  /// made from one: the gradient itself, or where an op has written it already, a part that
  /// add_parts() adds to it.
  TensorId weight_gradient(TensorId weight);
  void append(Op op);
  /// Behind the ops of a rule: sums follow the order of the backward pass, in the compute dtype.
  void add_parts();

 private:
  struct Part {
    TensorId weight, part;
  };

  Graph& graph_;
  std::vector<TensorId> pending_;
  std::vector<Part> parts_;
};

}  // namespace zero::graph
