#include "zero/kernels/rotate.hpp"

#include <algorithm>
#include <cmath>

#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

struct RotateAttributes {
  int64_t heads, key_heads;
  int64_t samples;
};

/// The operands of both directions: in backward `x` is dy, and `y` dx.
struct Rotate {
  template <class S>
  struct In {
    S x, table;
    S query_table = kAbsent<S>;
    S first = kAbsent<S>;
    S decode_inputs = kAbsent<S>, rows = kAbsent<S>;  ///< of a chunk
  };
  template <class S>
  struct Out {
    S y;
  };
};

kernels::RotateExtents extents(const Graph& graph, const Op& op) {
  const auto in = inputs<Rotate>(op);
  const auto of = op.attributes.as<RotateAttributes>();
  const Shape &x = graph[in.x].shape, &table = graph[in.table].shape;
  return {.packed = packed_rows(x, of.heads, of.key_heads),
          .length = x[0] / of.samples,
          .pairs = table[1] / 2,
          .positions = table[0]};
}

template <class T>
kernels::RotateArrays<T> arrays(const OpCall& call) {
  const auto in = inputs<Rotate>(call);
  return {.x = in.x,
          .query_table = in.query_table == nullptr ? in.table : in.query_table,
          .key_table = in.table,
          .first = in.first,
          .chunk = in.decode_inputs,
          .rows = in.rows,
          .y = outputs<Rotate>(call).y};
}

struct Forward {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    kernels::rotate<T>(stream, extents(*call.graph, *call.op), arrays<T>(call));
  }
};

struct Backward {
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    kernels::rotate_backward<T>(stream, extents(*call.graph, *call.op), arrays<T>(call));
  }
};

void gradient(GradientTape& tape, const Op& op) {
  auto in = inputs<Rotate>(op);
  const TensorId x = in.x, dx = tape.like(x);
  in.x = tape.gradient(outputs<Rotate>(op).y);
  tape.append(make_op<Rotate>(kRotateGrad, in, {.y = dx}, op.attributes));
  tape.contribute(x, dx);
}

}  // namespace

const Operation kRotate{.name = "rotate",
                        .gradient = gradient,
                        .repeated_from = Recompute::selective,
                        .call = call_typed<Forward>};
const Operation kRotateGrad{.name = "rotate_grad", .call = call_typed<Backward>};

TensorId rotary_table(GraphBuilder& out, const RotaryTable& table) {
  const size_t pairs = table.frequencies.size(), factors = table.position_factors.size();
  ZERO_REQUIRE(pairs > 0 && table.positions > 0, "a rotary table of ", pairs, " frequencies and ",
               table.positions, " positions: both must be at least 1");
  ZERO_REQUIRE(factors == 0 || factors == size_t(table.positions), "a rotary table of ",
               table.positions, " positions with ", factors, " factors");
  std::vector<float> values;
  values.reserve(size_t(table.positions) * 2 * pairs);
  for (int64_t position = 0; position < table.positions; ++position) {
    const double more = factors == 0 ? 1.0 : table.position_factors[size_t(position)];
    const double factor = table.factor * more;
    for (const double frequency : table.frequencies)
      values.push_back(float(factor * std::cos(double(position) * frequency)));
    for (const double frequency : table.frequencies)
      values.push_back(float(factor * std::sin(double(position) * frequency)));
  }
  const std::string name = text("rotary.", out.graph().constants.size());
  return out.constant(name, {table.positions, int64_t(2 * pairs)}, std::move(values));
}

namespace {

void require_table(const GraphBuilder& out, TensorId id, int64_t head_width, int64_t positions) {
  const Tensor& table = out[id];
  ZERO_REQUIRE(table.role == Role::constant && table.shape.rank() == 2, describe(table),
               " is no rotary_table()");
  ZERO_REQUIRE(table.shape[1] <= head_width, describe(table), " turns more columns than the ",
               head_width, " of a head");
  ZERO_REQUIRE(table.shape[0] >= positions, describe(table), " has no row for each of ", positions,
               " positions");
}

}  // namespace

TensorId rotate(GraphBuilder& out, TensorId qkv, const RotateOptions& options) {
  const int64_t width = require_packed(out[qkv], options.packed);
  ZERO_REQUIRE(width % 2 == 0, describe(out[qkv]), " has heads of ", width,
               " columns: rotation needs an even number");
  const Graph& graph = out.graph();
  const Shape shape = out[qkv].shape;
  const int64_t positions = out.continues() ? out.context() : shape[0] / graph.samples;
  require_table(out, options.table, width, positions);
  if (options.query_table != kNone) {
    require_table(out, options.query_table, width, positions);
    ZERO_REQUIRE(out[options.query_table].shape == out[options.table].shape,
                 describe(out[options.query_table]), " and ", describe(out[options.table]),
                 " differ in shape");
  }
  ZERO_REQUIRE(options.first == kNone || !out.continues(),
               "rows of a chunk name their positions: rotate() takes no `first` there");
  ZERO_REQUIRE(options.first == kNone || out[options.first].shape.numel() == shape[0],
               describe(out[options.first]), " has no place for each row of ", describe(out[qkv]));
  const bool continues = out.continues();
  const TensorId y = out.activation("rotate(" + out[qkv].name + ")", out.compute(), shape);
  out.add(make_op<Rotate>(kRotate,
                          {.x = qkv,
                           .table = options.table,
                           .query_table = options.query_table,
                           .first = options.first,
                           .decode_inputs = continues ? graph.decode_inputs : kNone,
                           .rows = continues ? out.chunk_input(kRowsInput) : kNone},
                          {.y = y},
                          RotateAttributes{.heads = options.packed.heads,
                                           .key_heads = options.packed.key_heads,
                                           .samples = graph.samples}));
  return y;
}

}  // namespace zero::graph
