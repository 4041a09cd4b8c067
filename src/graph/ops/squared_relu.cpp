#include "zero/kernels/squared_relu.hpp"

#include "zero/graph/differentiate.hpp"
#include "zero/graph/operations.hpp"

namespace zero::graph {
namespace {

struct SquaredRelu {
  template <class S>
  struct In {
    S x;
  };
  template <class S>
  struct Out {
    S y;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const int64_t numel = (*call.graph)[inputs<SquaredRelu>(*call.op).x].shape.numel();
    kernels::squared_relu<T>(stream, numel, inputs<SquaredRelu>(call).x,
                             outputs<SquaredRelu>(call).y);
  }
};

struct SquaredReluGrad {
  template <class S>
  struct In {
    S x, dy;
  };
  template <class S>
  struct Out {
    S dx;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<SquaredReluGrad>(call);
    const int64_t numel = (*call.graph)[inputs<SquaredReluGrad>(*call.op).x].shape.numel();
    kernels::squared_relu_backward<T>(stream, numel, in.x, in.dy,
                                      outputs<SquaredReluGrad>(call).dx);
  }
};

void gradient(GradientTape& tape, const Op& op) {
  const TensorId x = inputs<SquaredRelu>(op).x;
  const TensorId dy = tape.gradient(outputs<SquaredRelu>(op).y);
  const TensorId dx = tape.like(x);
  tape.append(make_op<SquaredReluGrad>(kSquaredReluGrad, {.x = x, .dy = dy}, {.dx = dx}));
  tape.contribute(x, dx);
}

}  // namespace

const Operation kSquaredRelu{.name = "squared_relu",
                             .gradient = gradient,
                             .repeated_from = Recompute::selective,
                             .call = call_typed<SquaredRelu>};
const Operation kSquaredReluGrad{.name = "squared_relu_grad", .call = call_typed<SquaredReluGrad>};

TensorId squared_relu(GraphBuilder& out, TensorId x) {
  const TensorId y =
      out.activation("squared_relu(" + out[x].name + ")", out.compute(), out[x].shape);
  out.add(make_op<SquaredRelu>(kSquaredRelu, {.x = x}, {.y = y}));
  return y;
}

}  // namespace zero::graph
