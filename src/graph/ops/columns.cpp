#include "zero/kernels/columns.hpp"

#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

struct ColumnAttributes {
  int64_t first;
  double scale;
};

struct AddToColumns {
  template <class S>
  struct In {
    S x, part;
  };
  template <class S>
  struct Out {
    S y;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

/// The gradient of `part`.
struct TakeColumns {
  template <class S>
  struct In {
    S x;
  };
  template <class S>
  struct Out {
    S part;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

kernels::ColumnRange range_of(const OpCall& call, TensorId x, TensorId part) {
  const Shape &whole = (*call.graph)[x].shape, &some = (*call.graph)[part].shape;
  return {.rows = whole[0],
          .columns = whole[1],
          .first = call.op->attributes.as<ColumnAttributes>().first,
          .width = some[1]};
}

float scale_of(const OpCall& call) {
  return float(call.op->attributes.as<ColumnAttributes>().scale);
}

template <class T>
void AddToColumns::call(Stream& stream, const OpCall& call) {
  const auto [x, part] = inputs<AddToColumns>(*call.op);
  const auto in = inputs<AddToColumns>(call);
  kernels::add_to_columns<T>(stream, range_of(call, x, part), scale_of(call), in.x, in.part,
                             outputs<AddToColumns>(call).y);
}

template <class T>
void TakeColumns::call(Stream& stream, const OpCall& call) {
  const TensorId x = inputs<TakeColumns>(*call.op).x, part = outputs<TakeColumns>(*call.op).part;
  kernels::take_columns<T>(stream, range_of(call, x, part), scale_of(call),
                           inputs<TakeColumns>(call).x, outputs<TakeColumns>(call).part);
}

/// Passes the gradient on unchanged to x.
void gradient(GradientTape& tape, const Op& op) {
  const auto [x, part] = inputs<AddToColumns>(op);
  const TensorId dy = tape.gradient(outputs<AddToColumns>(op).y), dpart = tape.like(part);
  tape.append(make_op<TakeColumns>(kTakeColumns, {.x = dy}, {.part = dpart}, op.attributes));
  tape.contribute(part, dpart);
  tape.contribute(x, dy);
}

}  // namespace

const Operation kAddToColumns{.name = "add_to_columns",
                              .gradient = gradient,
                              .repeated_from = Recompute::selective,
                              .call = call_typed<AddToColumns>};
const Operation kTakeColumns{.name = "take_columns", .call = call_typed<TakeColumns>};

TensorId add_to_columns(GraphBuilder& out, TensorId x, TensorId part,
                        const ColumnOptions& options) {
  require_matrix(out[x]);
  require_matrix(out[part]);
  const Shape &whole = out[x].shape, &some = out[part].shape;
  ZERO_REQUIRE(whole[0] == some[0] && options.first >= 0 && options.first + some[1] <= whole[1],
               describe(out[part]), " does not fit into ", describe(out[x]), " from column ",
               options.first);
  const TensorId y =
      out.activation(out[x].name + " + " + out[part].name, out.compute(), out[x].shape);
  out.add(make_op<AddToColumns>(
      kAddToColumns, {.x = x, .part = part}, {.y = y},
      ColumnAttributes{.first = options.first, .scale = double(options.scale)}));
  return y;
}

}  // namespace zero::graph
