#include "zero/kernels/sample_rows.hpp"

#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

/// The operands of kinds with one input and one output.
struct Move {
  template <class S>
  struct In {
    S x;
  };
  template <class S>
  struct Out {
    S y;
  };
};

struct MoveAttributes {
  int64_t samples;
  RowRange taken;  ///< of take_rows alone
};

/// Returns the rows of the matrix that has whole samples.
kernels::SampleRows rows_of(const OpCall& call, TensorId whole) {
  const Shape& shape = (*call.graph)[whole].shape;
  const int64_t samples = call.op->attributes.as<MoveAttributes>().samples;
  return {.samples = samples, .length = shape[0] / samples, .width = shape[1]};
}

TensorId input_of(const OpCall& call) { return inputs<Move>(*call.op).x; }
TensorId output_of(const OpCall& call) { return outputs<Move>(*call.op).y; }

struct Neighbours : Move {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    kernels::neighbour_rows<T>(stream, rows_of(call, input_of(call)), inputs<Move>(call).x,
                               outputs<Move>(call).y);
  }
};

struct NeighboursGrad : Move {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    kernels::neighbour_rows_backward<T>(stream, rows_of(call, output_of(call)),
                                        inputs<Move>(call).x, outputs<Move>(call).y);
  }
};

kernels::RowsTaken taken_of(const OpCall& call) {
  const RowRange taken = call.op->attributes.as<MoveAttributes>().taken;
  return {.first = taken.first, .count = taken.count};
}

struct Take : Move {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    kernels::take_rows<T>(stream, rows_of(call, input_of(call)), taken_of(call),
                          inputs<Move>(call).x, outputs<Move>(call).y);
  }
};

struct TakeGrad : Move {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    kernels::take_rows_backward<T>(stream, rows_of(call, output_of(call)), taken_of(call),
                                   inputs<Move>(call).x, outputs<Move>(call).y);
  }
};

/// Appends `kind` from the gradient of y to that of x, which may be a parameter.
template <const Operation& kKind>
void gradient(GradientTape& tape, const Op& op) {
  const TensorId x = inputs<Move>(op).x, dy = tape.gradient(outputs<Move>(op).y);
  const bool is_parameter = tape.graph()[x].role == Role::parameter;
  const TensorId dx = is_parameter ? tape.weight_gradient(x) : tape.like(x);
  tape.append(make_op<Move>(kKind, {.x = dy}, {.y = dx}, op.attributes));
  if (!is_parameter) tape.contribute(x, dx);
}

struct ClearPadding {
  template <class S>
  struct In {
    S x, counts;
  };
  template <class S>
  struct Out {
    S y;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<ClearPadding>(call);
    kernels::clear_padding<T>(stream, rows_of(call, inputs<ClearPadding>(*call.op).x), in.counts,
                              in.x, outputs<ClearPadding>(call).y);
  }
};

void clear_gradient(GradientTape& tape, const Op& op) {
  const auto in = inputs<ClearPadding>(op);
  const TensorId dx = tape.like(in.x);
  tape.append(make_op<ClearPadding>(
      kClearPadding, {.x = tape.gradient(outputs<ClearPadding>(op).y), .counts = in.counts},
      {.y = dx}, op.attributes));
  tape.contribute(in.x, dx);
}

/// Returns the rows of a sample of x.
int64_t length_of(const GraphBuilder& out, TensorId x) {
  const int64_t samples = out.graph().samples;
  require_matrix(out[x]);
  ZERO_REQUIRE(!out.continues(), describe(out[x]), ": a chunk does not have whole samples");
  ZERO_REQUIRE(out[x].shape[0] % samples == 0, describe(out[x]), " does not split into ", samples,
               " samples");
  return out[x].shape[0] / samples;
}

TensorId taken_rows(GraphBuilder& out, TensorId x, const std::string& name,
                    const MoveAttributes& attributes) {
  const TensorId y = out.activation(name, out.compute(),
                                    {attributes.samples * attributes.taken.count, out[x].shape[1]});
  out.add(make_op<Move>(kTakeRows, {.x = x}, {.y = y}, attributes));
  return y;
}

}  // namespace

const Operation kNeighbourRowsGrad{.name = "neighbour_rows_grad",
                                   .call = call_typed<NeighboursGrad>};
const Operation kNeighbourRows{.name = "neighbour_rows",
                               .gradient = gradient<kNeighbourRowsGrad>,
                               .repeated_from = Recompute::selective,
                               .call = call_typed<Neighbours>};
const Operation kTakeRowsGrad{.name = "take_rows_grad", .call = call_typed<TakeGrad>};
const Operation kTakeRows{
    .name = "take_rows", .gradient = gradient<kTakeRowsGrad>, .call = call_typed<Take>};
const Operation kClearPadding{
    .name = "clear_padding", .gradient = clear_gradient, .call = call_typed<ClearPadding>};

TensorId neighbour_rows(GraphBuilder& out, TensorId x) {
  length_of(out, x);
  const TensorId y = out.activation("neighbours(" + out[x].name + ")", out.compute(),
                                    {out[x].shape[0], 3 * out[x].shape[1]});
  out.add(make_op<Move>(kNeighbourRows, {.x = x}, {.y = y},
                        MoveAttributes{.samples = out.graph().samples, .taken = {}}));
  return y;
}

TensorId clear_padding(GraphBuilder& out, TensorId x, TensorId counts) {
  length_of(out, x);
  ZERO_REQUIRE(out[counts].dtype == Dtype::i32 && out[counts].shape == Shape({out.graph().samples}),
               describe(out[counts]), " has no count of rows for each sample");
  const TensorId y = out.activation("cleared(" + out[x].name + ")", out.compute(), out[x].shape);
  out.add(make_op<ClearPadding>(kClearPadding, {.x = x, .counts = counts}, {.y = y},
                                MoveAttributes{.samples = out.graph().samples, .taken = {}}));
  return y;
}

TensorId first_rows(GraphBuilder& out, TensorId x) {
  length_of(out, x);
  return taken_rows(out, x, "first(" + out[x].name + ")",
                    {.samples = out.graph().samples, .taken = {.first = 0, .count = 1}});
}

TensorId take_rows(GraphBuilder& out, TensorId table, const RowRange& rows) {
  require_matrix(out[table]);
  ZERO_REQUIRE(rows.first >= 0 && rows.count > 0 && rows.first + rows.count <= out[table].shape[0],
               describe(out[table]), " does not have ", rows.count, " rows from ", rows.first,
               " on");
  return taken_rows(out, table, "rows(" + out[table].name + ")", {.samples = 1, .taken = rows});
}

}  // namespace zero::graph
