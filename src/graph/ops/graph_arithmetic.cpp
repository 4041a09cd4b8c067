#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/kernels/elementwise.hpp"

namespace zero::graph {
namespace {

/// The operands of an op of two numbers.
struct Binary {
  template <class S>
  struct In {
    S a, b;
  };
  template <class S>
  struct Out {
    S y;
  };

  static int64_t numel(const OpCall& call) {
    return (*call.graph)[inputs<Binary>(*call.op).a].shape.numel();
  }
};

struct Add {
  /// Calls the dropout kernel with nothing to drop, which is an addition.
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<Binary>(call);
    const kernels::DropoutExtents whole{.samples = 1, .numel_per_sample = Binary::numel(call)};
    kernels::dropout_add<T>(stream, {}, whole, nullptr, in.a, in.b, outputs<Binary>(call).y);
  }
};

struct Multiply {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<Binary>(call);
    kernels::multiply<T>(stream, Binary::numel(call), in.a, in.b, outputs<Binary>(call).y);
  }
};

/// Passes the gradient on unchanged to both operands.
void gradient_of_sum(GradientTape& tape, const Op& op) {
  const auto [a, b] = inputs<Binary>(op);
  const TensorId dy = tape.gradient(outputs<Binary>(op).y);
  tape.contribute(b, dy);
  tape.contribute(a, dy);
}

/// Appends da = dy b and db = dy a.
void gradient_of_product(GradientTape& tape, const Op& op) {
  const auto [a, b] = inputs<Binary>(op);
  const TensorId dy = tape.gradient(outputs<Binary>(op).y);
  for (const auto& [factor, other] : {std::pair{a, b}, std::pair{b, a}}) {
    const TensorId gradient = tape.like(factor);
    tape.append(make_op<Binary>(kMultiply, {.a = dy, .b = other}, {.y = gradient}));
    tape.contribute(factor, gradient);
  }
}

/// Refuses operands of other extents; `cannot` ends the sentence.
void require_alike(const GraphBuilder& out, TensorId a, TensorId b, const char* cannot) {
  ZERO_REQUIRE(out[a].shape == out[b].shape, describe(out[a]), " and ", describe(out[b]),
               " cannot be ", cannot);
}

}  // namespace

const Operation kAdd{.name = "add", .gradient = gradient_of_sum, .call = call_typed<Add>};
const Operation kMultiply{.name = "multiply",
                          .gradient = gradient_of_product,
                          .repeated_from = Recompute::selective,
                          .call = call_typed<Multiply>};

Op addition(TensorId a, TensorId b, TensorId y) {
  return make_op<Binary>(kAdd, {.a = a, .b = b}, {.y = y});
}

TensorId add(GraphBuilder& out, TensorId a, TensorId b, const std::string& name) {
  require_alike(out, a, b, "added");
  const TensorId y = out.activation(name, out.compute(), out[a].shape);
  out.add(addition(a, b, y));
  return y;
}

TensorId multiply(GraphBuilder& out, TensorId a, TensorId b) {
  require_alike(out, a, b, "multiplied element by element");
  const TensorId y = out.activation(out[a].name + " * " + out[b].name, out.compute(), out[a].shape);
  out.add(make_op<Binary>(kMultiply, {.a = a, .b = b}, {.y = y}));
  return y;
}

}  // namespace zero::graph
