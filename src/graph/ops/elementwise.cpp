#include "zero/kernels/elementwise.hpp"

#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

using kernels::Activation;

template <Activation kFunction>
struct Forward {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const int64_t numel = (*call.graph)[inputs<Elementwise>(*call.op).x].shape.numel();
    kernels::activate<T>(stream, kFunction, numel, inputs<Elementwise>(call).x,
                         outputs<Elementwise>(call).y);
  }
};

template <Activation kFunction>
struct Backward {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<ElementwiseGrad>(call);
    const int64_t numel = (*call.graph)[inputs<ElementwiseGrad>(*call.op).x].shape.numel();
    kernels::activate_backward<T>(
        stream, kFunction, numel,
        {.x = in.x, .dy = in.dy, .dx = outputs<ElementwiseGrad>(call).dx});
  }
};

template <const Operation& kGrad>
void gradient(GradientTape& tape, const Op& op) {
  const TensorId x = inputs<Elementwise>(op).x;
  const TensorId dx = tape.like(x);
  const TensorId dy = tape.gradient(outputs<Elementwise>(op).y);
  tape.append(make_op<ElementwiseGrad>(kGrad, {.x = x, .dy = dy}, {.dx = dx}));
  tape.contribute(x, dx);
}

/// Reads y instead of x, because y determines the slope and later ops keep it.
template <const Operation& kGrad>
void gradient_from_output(GradientTape& tape, const Op& op) {
  const TensorId x = inputs<Elementwise>(op).x, y = outputs<Elementwise>(op).y;
  const TensorId dx = tape.like(x);
  tape.append(make_op<ElementwiseGrad>(kGrad, {.x = y, .dy = tape.gradient(y)}, {.dx = dx}));
  tape.contribute(x, dx);
}

TensorId elementwise(GraphBuilder& out, const Operation& kind, TensorId x) {
  const std::string name = std::string(kind.name) + "(" + out[x].name + ")";
  const TensorId y = out.activation(name, out.compute(), out[x].shape);
  out.add(make_op<Elementwise>(kind, {.x = x}, {.y = y}));
  return y;
}

}  // namespace

const Operation kGeluGrad{.name = "gelu_grad", .call = call_typed<Backward<Activation::gelu>>};
const Operation kGelu{.name = "gelu",
                      .gradient = gradient<kGeluGrad>,
                      .repeated_from = Recompute::selective,
                      .call = call_typed<Forward<Activation::gelu>>};

TensorId gelu(GraphBuilder& out, TensorId x) { return elementwise(out, kGelu, x); }

const Operation kSquaredReluGrad{.name = "squared_relu_grad",
                                 .call = call_typed<Backward<Activation::squared_relu>>};
const Operation kSquaredRelu{.name = "squared_relu",
                             .gradient = gradient<kSquaredReluGrad>,
                             .repeated_from = Recompute::selective,
                             .call = call_typed<Forward<Activation::squared_relu>>};

TensorId squared_relu(GraphBuilder& out, TensorId x) { return elementwise(out, kSquaredRelu, x); }

const Operation kGeluErfGrad{.name = "gelu_erf_grad",
                             .call = call_typed<Backward<Activation::gelu_erf>>};
const Operation kGeluErf{.name = "gelu_erf",
                         .gradient = gradient<kGeluErfGrad>,
                         .repeated_from = Recompute::selective,
                         .call = call_typed<Forward<Activation::gelu_erf>>};

TensorId gelu_erf(GraphBuilder& out, TensorId x) { return elementwise(out, kGeluErf, x); }

// If y determines the slope, x is not kept, so repeating the op saves nothing.

const Operation kReluGrad{.name = "relu_grad", .call = call_typed<Backward<Activation::relu>>};
const Operation kRelu{.name = "relu",
                      .gradient = gradient_from_output<kReluGrad>,
                      .call = call_typed<Forward<Activation::relu>>};

TensorId relu(GraphBuilder& out, TensorId x) { return elementwise(out, kRelu, x); }

const Operation kClampGrad{.name = "clamp_grad", .call = call_typed<Backward<Activation::clamp>>};
const Operation kClamp{.name = "clamp",
                       .gradient = gradient_from_output<kClampGrad>,
                       .call = call_typed<Forward<Activation::clamp>>};

TensorId clamp_f16(GraphBuilder& out, TensorId x) {
  return out.compute() == Dtype::f16 ? elementwise(out, kClamp, x) : x;
}

}  // namespace zero::graph
