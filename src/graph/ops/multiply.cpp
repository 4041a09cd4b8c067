#include "src/graph/ops/kinds.hpp"
#include "zero/graph/passes.hpp"
#include "zero/kernels/elementwise.hpp"

namespace zero::graph {
namespace {

struct Multiply {
  template <class S>
  struct In {
    S a, b;
  };
  template <class S>
  struct Out {
    S y;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<Multiply>(call);
    const int64_t numel = (*call.graph)[inputs<Multiply>(*call.op).a].shape.numel();
    kernels::multiply<T>(stream, numel, in.a, in.b, outputs<Multiply>(call).y);
  }
};

/// Appends da = dy b and db = dy a.
void gradient(GradientTape& tape, const Op& op) {
  const auto [a, b] = inputs<Multiply>(op);
  const TensorId dy = tape.gradient(outputs<Multiply>(op).y);
  for (const auto& [factor, other] : {std::pair{a, b}, std::pair{b, a}}) {
    const TensorId gradient = tape.like(factor);
    tape.append(make_op<Multiply>(kMultiply, {.a = dy, .b = other}, {.y = gradient}));
    tape.contribute(factor, gradient);
  }
}

}  // namespace

const Operation kMultiply{.name = "multiply",
                          .gradient = gradient,
                          .repeated_from = Recompute::selective,
                          .call = call_typed<Multiply>};

TensorId multiply(GraphBuilder& out, TensorId a, TensorId b) {
  ZERO_REQUIRE(out[a].shape == out[b].shape, describe(out[a]), " and ", describe(out[b]),
               " cannot be multiplied element by element");
  const TensorId y = out.activation(out[a].name + " * " + out[b].name, out.compute(), out[a].shape);
  out.add(make_op<Multiply>(kMultiply, {.a = a, .b = b}, {.y = y}));
  return y;
}

}  // namespace zero::graph
