#pragma once
/// Kinds of y = f(x), each element alone, and of dx = dy f'(x).

#include "zero/graph/builder.hpp"
#include "zero/graph/differentiate.hpp"
#include "zero/graph/operation.hpp"

namespace zero::graph {

struct Elementwise {
  template <class S>
  struct In {
    S x;
  };
  template <class S>
  struct Out {
    S y;
  };
};

struct ElementwiseGrad {
  template <class S>
  struct In {
    S x, dy;
  };
  template <class S>
  struct Out {
    S dx;
  };
};

template <class T>
void call_elementwise(Stream& stream, const OpCall& call,
                      void (*kernel)(Stream&, int64_t numel, const T* x, T* y)) {
  const int64_t numel = (*call.graph)[inputs<Elementwise>(*call.op).x].shape.numel();
  kernel(stream, numel, inputs<Elementwise>(call).x, outputs<Elementwise>(call).y);
}

template <class T>
void call_elementwise_grad(Stream& stream, const OpCall& call,
                           void (*kernel)(Stream&, int64_t numel, const T* x, const T* dy, T* dx)) {
  const auto in = inputs<ElementwiseGrad>(call);
  const int64_t numel = (*call.graph)[inputs<ElementwiseGrad>(*call.op).x].shape.numel();
  kernel(stream, numel, in.x, in.dy, outputs<ElementwiseGrad>(call).dx);
}

/// Operation::gradient of a kind whose gradient is of kind `kGrad`.
template <const Operation& kGrad>
void elementwise_gradient(GradientTape& tape, const Op& op) {
  const TensorId x = inputs<Elementwise>(op).x;
  const TensorId dx = tape.like(x);
  const TensorId dy = tape.gradient(outputs<Elementwise>(op).y);
  tape.append(make_op<ElementwiseGrad>(kGrad, {.x = x, .dy = dy}, {.dx = dx}));
  tape.contribute(x, dx);
}

inline TensorId elementwise(GraphBuilder& out, const Operation& kind, TensorId x) {
  const std::string name = std::string(kind.name) + "(" + out[x].name + ")";
  const TensorId y = out.activation(name, out.compute(), out[x].shape);
  out.add(make_op<Elementwise>(kind, {.x = x}, {.y = y}));
  return y;
}

}  // namespace zero::graph
