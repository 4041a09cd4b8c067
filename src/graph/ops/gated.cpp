#include "zero/kernels/gated.hpp"

#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

struct GatedAttributes {
  int64_t gate;  ///< Gate
};

struct Gated {
  template <class S>
  struct In {
    S x;
  };
  template <class S>
  struct Out {
    S y;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

struct GatedGrad {
  template <class S>
  struct In {
    S x, dy;
  };
  template <class S>
  struct Out {
    S dx;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

kernels::Gate gate_of(const OpCall& call) {
  const auto gate = Gate(call.op->attributes.as<GatedAttributes>().gate);
  return gate == Gate::silu ? kernels::Gate::silu : kernels::Gate::gelu_tanh;
}

kernels::GatedExtents extents(const OpCall& call, TensorId x) {
  const Shape& shape = (*call.graph)[x].shape;
  return {.rows = shape[0], .width = shape[1] / 2};
}

template <class T>
void Gated::call(Stream& stream, const OpCall& call) {
  const T* const x = inputs<Gated>(call).x;
  T* const y = outputs<Gated>(call).y;
  kernels::gated<T>(stream, gate_of(call), extents(call, inputs<Gated>(*call.op).x), x, y);
}

template <class T>
void GatedGrad::call(Stream& stream, const OpCall& call) {
  const auto in = inputs<GatedGrad>(call);
  kernels::gated_backward<T>(stream, gate_of(call), extents(call, inputs<GatedGrad>(*call.op).x),
                             {.x = in.x, .dy = in.dy, .dx = outputs<GatedGrad>(call).dx});
}

void gradient(GradientTape& tape, const Op& op) {
  const TensorId x = inputs<Gated>(op).x;
  const TensorId dy = tape.gradient(outputs<Gated>(op).y), dx = tape.like(x);
  tape.append(make_op<GatedGrad>(kGatedGrad, {.x = x, .dy = dy}, {.dx = dx}, op.attributes));
  tape.contribute(x, dx);
}

}  // namespace

const Operation kGated{.name = "gated",
                       .gradient = gradient,
                       .repeated_from = Recompute::selective,
                       .call = call_typed<Gated>};
const Operation kGatedGrad{.name = "gated_grad", .call = call_typed<GatedGrad>};

TensorId gated(GraphBuilder& out, TensorId x, Gate gate) {
  require_matrix(out[x]);
  const Shape shape = out[x].shape;
  ZERO_REQUIRE(shape[1] % 2 == 0, describe(out[x]), " has no gate for each column");
  const TensorId y =
      out.activation("gated(" + out[x].name + ")", out.compute(), {shape[0], shape[1] / 2});
  out.add(make_op<Gated>(kGated, {.x = x}, {.y = y}, GatedAttributes{.gate = int64_t(gate)}));
  return y;
}

}  // namespace zero::graph
