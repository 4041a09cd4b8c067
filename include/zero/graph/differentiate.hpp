#pragma once

#include <string>
#include <vector>

#include "zero/graph/graph.hpp"

namespace zero::graph {

/// Appends the backward pass: walks the forward ops in reverse and lets each kind's rule append its
/// gradient ops. The classifier, last in the forward pass, becomes its differentiated form (it
/// computes dx and dtable in the same pass). Every parameter gets a gradient tensor of its own
/// shape in the compute dtype, written exactly once before anything updates it. Throws
/// Error(kInternal) if a parameter is unreachable from the loss.
Graph differentiate(const Graph& forward);

/// What a kind's gradient rule sees.
class GradientTape {
 public:
  explicit GradientTape(Graph& graph) : graph_(graph), pending_(graph.tensors.size(), kNone) {}

  const Graph& graph() const { return graph_; }

  /// The gradient of an output, complete; kNone if nothing depends on it.
  TensorId gradient(TensorId tensor) const { return pending_[size_t(tensor)]; }
  /// Takes what has been gathered for `tensor` so far, so that the rule's own op can add it in;
  /// contribute() then sets the whole. kNone if there is none.
  TensorId take(TensorId tensor);
  /// Adds `gradient` to the gradient of `tensor`, with an add op if there is one already.
  void contribute(TensorId tensor, TensorId gradient);
  /// A new activation like `tensor`, named "d(<name>)".
  TensorId like(TensorId tensor);
  /// The gradient tensor of a parameter; `fresh` tells whether nothing has written it yet.
  TensorId parameter_gradient(TensorId parameter, bool& fresh);
  void append(Op op);

 private:
  Graph& graph_;
  std::vector<TensorId> pending_;
};

}  // namespace zero::graph
