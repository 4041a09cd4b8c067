#include "src/graph/ops/kinds.hpp"
#include "zero/graph/passes.hpp"

namespace zero::graph {
namespace {

struct Add {
  template <class S>
  struct In {
    S a, b;
  };
  template <class S>
  struct Out {
    S y;
  };

  /// Calls the dropout kernel with nothing to drop, which is an addition.
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<Add>(call);
    const auto out = outputs<Add>(call);
    const Shape& shape = (*call.graph)[inputs<Add>(*call.op).a].shape;
    const kernels::DropoutExtents whole{.samples = 1, .numel_per_sample = shape.numel()};
    kernels::dropout_add<T>(stream, {}, whole, nullptr, in.a, in.b, out.y);
  }
};

/// Passes the gradient on unchanged to both operands.
void gradient(GradientTape& tape, const Op& op) {
  const auto [a, b] = inputs<Add>(op);
  const TensorId dy = tape.gradient(outputs<Add>(op).y);
  tape.contribute(b, dy);
  tape.contribute(a, dy);
}

}  // namespace

const Operation kAdd{.name = "add", .gradient = gradient, .call = call_typed<Add>};

Op addition(TensorId a, TensorId b, TensorId y) {
  return make_op<Add>(kAdd, {.a = a, .b = b}, {.y = y});
}

TensorId add(GraphBuilder& out, TensorId a, TensorId b, const std::string& name) {
  ZERO_REQUIRE(out[a].shape == out[b].shape, describe(out[a]), " and ", describe(out[b]),
               " cannot be added");
  const TensorId y = out.activation(name, out.compute(), out[a].shape);
  out.add(addition(a, b, y));
  return y;
}

}  // namespace zero::graph
