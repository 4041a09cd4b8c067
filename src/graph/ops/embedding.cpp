#include "zero/kernels/embedding.hpp"

#include <algorithm>

#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/kernels/gradients.hpp"

namespace zero::graph {
namespace {

struct EmbeddingAttributes {
  int64_t samples;
  double scale;  ///< factor of token rows
};
/// Attributes with a row that gets no gradient. Others lack the word, as hashes of older plans do.
struct StillEmbeddingAttributes {
  EmbeddingAttributes common;
  int64_t still;
};

StillEmbeddingAttributes attributes_of(const Op& op) {
  constexpr size_t kWords = sizeof(EmbeddingAttributes) / sizeof(uint64_t);
  if (op.attributes.words().size() > kWords) return op.attributes.as<StillEmbeddingAttributes>();
  return {op.attributes.as<EmbeddingAttributes>(), -1};
}

kernels::EmbeddingExtents extents(const Graph& graph, const Op& op, TensorId tokens,
                                  TensorId token_table) {
  const Shape& table = graph[token_table].shape;
  const auto [common, still] = attributes_of(op);
  return {.samples = common.samples,
          .length = graph[tokens].shape[0] / common.samples,
          .width = table[1],
          .vocabulary = table[0],
          .scale = float(common.scale),
          .still = still};
}

struct Embedding {
  template <class S>
  struct In {
    S tokens, token_table;
    S position_table;  ///< may be absent
  };
  template <class S>
  struct Out {
    S x;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto [tokens, table, unused] = inputs<Embedding>(*call.op);
    const auto in = inputs<Embedding>(call);
    kernels::embedding<T>(stream, extents(*call.graph, *call.op, tokens, table), in.tokens,
                          in.token_table, in.position_table, outputs<Embedding>(call).x);
  }
};

/// Clears the gradient of positions beyond the sample length. `at` is the whole gradient.
template <class T>
void clear_unused(Stream& stream, const OpCall& call, const kernels::EmbeddingExtents& of,
                  TensorId positions, T* at) {
  const int64_t written = of.length * of.width;
  const int64_t numel = (*call.graph)[positions].shape.numel();
  if (numel == written) return;
  kernels::clear_bytes(stream, (numel - written) * int64_t(sizeof(T)), at + written);
}

struct EmbeddingGrad {
  template <class S>
  struct In {
    S tokens, dx;
    S dtoken_table;  ///< updated; absent if not yet written
  };
  template <class S>
  struct Out {
    S dtoken_table;
    S dposition_table = kAbsent<S>;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto [table, positions] = outputs<EmbeddingGrad>(*call.op);
    const auto in = inputs<EmbeddingGrad>(call);
    const auto out = outputs<EmbeddingGrad>(call);
    const kernels::EmbeddingExtents of =
        extents(*call.graph, *call.op, inputs<EmbeddingGrad>(*call.op).tokens, table);
    T* const dpositions = out.dposition_table;
    kernels::embedding_backward<T>(stream, of,
                                   {.tokens = in.tokens,
                                    .dx = in.dx,
                                    .dtoken_table = out.dtoken_table,
                                    .dposition_table = dpositions,
                                    .scratch = call.scratch,
                                    .first = in.dtoken_table == nullptr});
    if (positions != kNone) clear_unused<T>(stream, call, of, positions, dpositions);
  }
};

/// The operands if the token table is not trained.
struct PositionGrad {
  template <class S>
  struct In {
    S dx;
  };
  template <class S>
  struct Out {
    S dposition_table;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const Graph& graph = *call.graph;
    const Shape& dx = graph[inputs<PositionGrad>(*call.op).dx].shape;
    const TensorId positions = outputs<PositionGrad>(*call.op).dposition_table;
    const int64_t samples = attributes_of(*call.op).common.samples;
    const kernels::EmbeddingExtents of{
        .samples = samples, .length = dx[0] / samples, .width = dx[1], .vocabulary = 0};
    T* const dpositions = outputs<PositionGrad>(call).dposition_table;
    kernels::embedding_backward<T>(stream, of,
                                   {.tokens = nullptr,
                                    .dx = inputs<PositionGrad>(call).dx,
                                    .dtoken_table = nullptr,
                                    .dposition_table = dpositions,
                                    .scratch = nullptr});
    clear_unused<T>(stream, call, of, positions, dpositions);
  }
};

struct EmbeddingAt {
  template <class S>
  struct In {
    S tokens, token_table;
    S position_table;  ///< may be absent
    S decode_inputs, rows;
  };
  template <class S>
  struct Out {
    S x;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto of = inputs<EmbeddingAt>(*call.op);
    const auto in = inputs<EmbeddingAt>(call);
    kernels::embedding_at<T>(
        stream, extents(*call.graph, *call.op, of.tokens, of.token_table), in.decode_inputs,
        in.rows, {in.tokens, in.token_table, in.position_table}, outputs<EmbeddingAt>(call).x);
  }
};

/// Returns the gradient tensor of the positions; kNone if there are none or they are frozen.
TensorId position_gradient(GradientTape& tape, TensorId table) {
  return table != kNone && tape.wants(table) ? tape.weight_gradient(table) : kNone;
}

void gradient(GradientTape& tape, const Op& op) {
  const auto [tokens, token_table, position_table] = inputs<Embedding>(op);
  const TensorId dx = tape.gradient(outputs<Embedding>(op).x);
  if (!tape.wants(token_table)) {
    return tape.append(make_op<PositionGrad>(
        kPositionGrad, {.dx = dx}, {.dposition_table = position_gradient(tape, position_table)},
        op.attributes));
  }
  // Adds in place to an existing gradient, because few rows change. Only a parameter's gradient is
  // never shared.
  const bool adds = tape.graph()[token_table].role == Role::parameter;
  const TensorId before = adds ? tape.gradient(token_table) : kNone;
  const TensorId dtokens = before != kNone ? before : tape.weight_gradient(token_table);
  const TensorId dpositions = position_gradient(tape, position_table);
  tape.append(make_op<EmbeddingGrad>(
      kEmbeddingGrad, {.tokens = tokens, .dx = dx, .dtoken_table = before},
      {.dtoken_table = dtokens, .dposition_table = dpositions}, op.attributes));
}

int64_t gradient_scratch(const Graph& graph, const Op& op, int) {
  const TensorId tokens = inputs<EmbeddingGrad>(op).tokens;
  const TensorId table = outputs<EmbeddingGrad>(op).dtoken_table;
  return kernels::embedding_scratch_numel(extents(graph, op, tokens, table)) *
         int64_t(sizeof(int32_t));
}

/// Returns the traffic of tables whose touched rows, named by tokens, are at most those of `rows`.
int64_t traffic_of(const Graph& graph, const Op& op, TensorId rows) {
  int64_t total = 0;
  const auto add = [&](TensorId tensor) {
    if (tensor != kNone) total += std::min(graph[tensor].bytes(), graph[rows].bytes());
  };
  std::ranges::for_each(op.inputs, add);
  std::ranges::for_each(op.outputs, add);
  return total;
}

int64_t traffic(const Graph& graph, const Op& op) {
  return traffic_of(graph, op, outputs<Embedding>(op).x);
}

/// Adds the bytes of a table that is not yet written, because the op first clears it.
int64_t gradient_traffic(const Graph& graph, const Op& op) {
  const auto in = inputs<EmbeddingGrad>(op);
  const int64_t rows = traffic_of(graph, op, in.dx);
  if (in.dtoken_table != kNone) return rows;
  return rows + graph[outputs<EmbeddingGrad>(op).dtoken_table].bytes();
}

}  // namespace

const Operation kEmbedding{.name = "embedding",
                           .traffic_bytes = traffic,
                           .gradient = gradient,
                           .call = call_typed<Embedding>};
const Operation kEmbeddingGrad{.name = "embedding_grad",
                               .traffic_bytes = gradient_traffic,
                               .scratch_bytes = gradient_scratch,
                               .call = call_typed<EmbeddingGrad>};
const Operation kPositionGrad{.name = "position_grad", .call = call_typed<PositionGrad>};
const Operation kEmbeddingAt{
    .name = "embedding_at", .traffic_bytes = traffic, .call = call_typed<EmbeddingAt>};

namespace {

void require_positions(const GraphBuilder& out, TensorId token_table, TensorId position_table,
                       int64_t length) {
  const Tensor &table = out[token_table], &positions = out[position_table];
  require_matrix(positions);
  ZERO_REQUIRE(table.shape[1] == positions.shape[1], describe(table), " and ", describe(positions),
               " differ in width");
  ZERO_REQUIRE(positions.shape[0] >= length, describe(positions), " has no row for each of ",
               length, " tokens");
}

}  // namespace

TensorId embedding(GraphBuilder& out, TensorId ids, TensorId token_table,
                   const EmbeddingOptions& options) {
  require_matrix(out[token_table]);
  const TensorId position_table = options.positions;
  const Graph& graph = out.graph();
  const int64_t rows = out[ids].shape.numel();
  const int64_t length = out.continues() ? out.context() : rows / graph.samples;
  if (position_table != kNone) require_positions(out, token_table, position_table, length);
  const std::string name = "embedding(" + out[token_table].name + ")";
  const TensorId x = out.activation(name, out.compute(), {rows, out[token_table].shape[1]});
  const EmbeddingAttributes common{.samples = graph.samples, .scale = options.scale};
  Attributes attributes = common;
  if (options.still >= 0) attributes = StillEmbeddingAttributes{common, options.still};
  if (out.continues()) {
    out.add(make_op<EmbeddingAt>(kEmbeddingAt,
                                 {.tokens = ids,
                                  .token_table = token_table,
                                  .position_table = position_table,
                                  .decode_inputs = graph.decode_inputs,
                                  .rows = out.chunk_input(kRowsInput)},
                                 {.x = x}, attributes));
  } else {
    out.add(make_op<Embedding>(
        kEmbedding, {.tokens = ids, .token_table = token_table, .position_table = position_table},
        {.x = x}, attributes));
  }
  return x;
}

}  // namespace zero::graph
