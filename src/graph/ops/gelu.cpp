#include "src/graph/ops/gelu.hpp"

#include "zero/graph/differentiate.hpp"
#include "zero/graph/operations.hpp"
#include "zero/kernels/gelu.hpp"

namespace zero::graph {

template <class T>
void Gelu::call(Stream& stream, const OpCall& call) {
  const int64_t numel = (*call.graph)[inputs<Gelu>(*call.op).x].shape.numel();
  kernels::gelu<T>(stream, numel, inputs<Gelu>(call).x, outputs<Gelu>(call).y);
}

template <class T>
void GeluGrad::call(Stream& stream, const OpCall& call) {
  const auto in = inputs<GeluGrad>(call);
  const int64_t numel = (*call.graph)[inputs<GeluGrad>(*call.op).x].shape.numel();
  kernels::gelu_backward<T>(stream, numel, in.x, in.dy, outputs<GeluGrad>(call).dx);
}

namespace {

void gradient(GradientTape& tape, const Op& op) {
  const TensorId x = inputs<Gelu>(op).x;
  const TensorId dx = tape.like(x);
  tape.append(
      make_op<GeluGrad>(kGeluGrad, {.x = x, .dy = tape.gradient(outputs<Gelu>(op).y)}, {.dx = dx}));
  tape.contribute(x, dx);
}

}  // namespace

const Operation kGelu{.name = "gelu",
                      .gradient = gradient,
                      .repeated_from = Recompute::selective,
                      .call = call_typed<Gelu>};
const Operation kGeluGrad{.name = "gelu_grad", .call = call_typed<GeluGrad>};

TensorId gelu(GraphBuilder& out, TensorId x) {
  const TensorId y = out.activation("gelu(" + out[x].name + ")", out.compute(), out[x].shape);
  out.add(make_op<Gelu>(kGelu, {.x = x}, {.y = y}));
  return y;
}

}  // namespace zero::graph
