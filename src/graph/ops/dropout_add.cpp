#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

struct DropoutAdd {
  template <class S>
  struct In {
    S x, residual, step_inputs;
  };
  template <class S>
  struct Out {
    S y;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<DropoutAdd>(call);
    const auto out = outputs<DropoutAdd>(call);
    const auto attributes = call.op->attributes.as<DropoutAttributes>();
    const Shape& shape = (*call.graph)[inputs<DropoutAdd>(*call.op).x].shape;
    kernels::dropout_add<T>(
        stream, site_of(call, attributes),
        {.samples = attributes.samples, .numel_per_sample = shape.numel() / attributes.samples},
        in.step_inputs, in.x, in.residual, out.y);
  }
};

/// Passes the gradient on unchanged to the residual, and through dropout with the same mask to x.
void gradient(GradientTape& tape, const Op& op) {
  const auto [x, residual, step_inputs] = inputs<DropoutAdd>(op);
  const TensorId dy = tape.gradient(outputs<DropoutAdd>(op).y);
  if (residual != kNone) tape.contribute(residual, dy);
  if (op.attributes.as<DropoutAttributes>().probability == 0) {
    tape.contribute(x, dy);
    return;
  }
  const TensorId dx = tape.like(x);
  tape.append(make_op<DropoutAdd>(kDropoutAdd,
                                  {.x = dy, .residual = kNone, .step_inputs = step_inputs},
                                  {.y = dx}, op.attributes));
  tape.contribute(x, dx);
}

bool drops(const Op& op) { return op.attributes.as<DropoutAttributes>().probability > 0; }

int64_t draws(const Graph& graph, const Op& op) {
  return drops(op) ? graph[inputs<DropoutAdd>(op).x].shape.numel() : 0;
}

struct RowAttributes {
  DropoutAttributes dropout;
  int64_t first;  ///< row of the table in which x begins
};

struct DropRows {
  template <class S>
  struct In {
    S x, step_inputs;
  };
  template <class S>
  struct Out {
    S y;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<DropRows>(call);
    const auto attributes = call.op->attributes.as<RowAttributes>();
    const Shape& shape = (*call.graph)[inputs<DropRows>(*call.op).x].shape;
    kernels::drop_rows<T>(stream, site_of(call, attributes.dropout),
                          {.first = attributes.first, .count = shape[0], .width = shape[1]},
                          in.step_inputs, in.x, outputs<DropRows>(call).y);
  }
};

void rows_gradient(GradientTape& tape, const Op& op) {
  const auto [x, step_inputs] = inputs<DropRows>(op);
  const TensorId dx = tape.like(x);
  tape.append(make_op<DropRows>(
      kDropRows, {.x = tape.gradient(outputs<DropRows>(op).y), .step_inputs = step_inputs},
      {.y = dx}, op.attributes));
  tape.contribute(x, dx);
}

int64_t row_draws(const Graph& graph, const Op& op) {
  return graph[inputs<DropRows>(op).x].shape.numel();
}

}  // namespace

const Operation kDropoutAdd{
    .name = "dropout_add", .gradient = gradient, .draws = draws, .call = call_typed<DropoutAdd>};
const Operation kDropRows{.name = "drop_rows",
                          .gradient = rows_gradient,
                          .draws = row_draws,
                          .call = call_typed<DropRows>};

kernels::DropoutSite site_of(const OpCall& call, const DropoutAttributes& attributes) {
  return {.probability = float(attributes.probability),
          .site = uint32_t(attributes.site),
          .sample_offset = call.sample_offset};
}

DropoutAttributes drawn(GraphBuilder& out, float probability) {
  ZERO_REQUIRE(probability >= 0 && probability < 1, "dropout of ", probability,
               ": must be at least 0 and less than 1");
  return {.samples = out.graph().samples, .probability = probability, .site = out.next_site()};
}

Addition addition_to(const Op& op, TensorId x) {
  if (op.kind != &kDropoutAdd || drops(op)) return {};
  const auto in = inputs<DropoutAdd>(op);
  if (in.x != x || in.residual == x) return {};
  return {.residual = in.residual, .y = outputs<DropoutAdd>(op).y};
}

TensorId dropout_add(GraphBuilder& out, TensorId x, TensorId residual, float probability,
                     const std::string& name) {
  const Shape shape = out[x].shape;
  ZERO_REQUIRE(residual == kNone || out[residual].shape == shape, describe(out[x]), " and ",
               describe(out[residual]), " cannot be added");
  if (out.continues()) {
    ZERO_REQUIRE(residual != kNone, "no dropout while a text is continued, and ", name,
                 " adds nothing");
    return add(out, x, residual, name);
  }
  const TensorId y = out.activation(name, out.compute(), shape);
  out.add(make_op<DropoutAdd>(
      kDropoutAdd, {.x = x, .residual = residual, .step_inputs = out.graph().step_inputs}, {.y = y},
      drawn(out, probability)));
  return y;
}

TensorId drop_rows(GraphBuilder& out, TensorId x, const RowRange& rows, float probability) {
  require_matrix(out[x]);
  ZERO_REQUIRE(out[x].shape[0] == rows.count && rows.first >= 0, describe(out[x]), " has not the ",
               rows.count, " rows from ", rows.first, " on");
  if (probability == 0 || out.continues()) return x;
  const TensorId y = out.activation("dropped(" + out[x].name + ")", out.compute(), out[x].shape);
  out.add(
      make_op<DropRows>(kDropRows, {.x = x, .step_inputs = out.graph().step_inputs}, {.y = y},
                        RowAttributes{.dropout = drawn(out, probability), .first = rows.first}));
  return y;
}

}  // namespace zero::graph
