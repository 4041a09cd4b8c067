#include "zero/graph/builder.hpp"

#include <algorithm>
#include <utility>

#include "zero/kernels/cached_attention.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::graph {
namespace {

/// "h.0.ln_1" of "h.0.ln_1.weight": names what a layer makes after its weight.
std::string stem(const std::string& name) { return name.substr(0, name.rfind('.')); }

std::string describe(const Tensor& tensor) { return tensor.name + " " + to_text(tensor.shape); }

void require_matrix(const Tensor& tensor) {
  ZERO_REQUIRE(tensor.shape.rank() == 2, describe(tensor), " must be a matrix");
}

void require_vector(const Tensor& vector, const Tensor& matrix, int64_t width) {
  ZERO_REQUIRE(vector.shape == Shape({width}), describe(vector), " does not fit ", describe(matrix),
               ": one element a column is needed");
}

void require_head(const Tensor& x, const Tensor& table, int64_t vocabulary) {
  require_matrix(x);
  require_matrix(table);
  ZERO_REQUIRE(x.shape[1] == table.shape[1], describe(x), " and ", describe(table),
               " differ in width");
  ZERO_REQUIRE(vocabulary > 0 && vocabulary <= table.shape[0], describe(table), " has no rows for ",
               vocabulary, " classes");
}

void require_probability(float probability) {
  ZERO_REQUIRE(probability >= 0 && probability < 1, "dropout of ", probability,
               ": must be at least 0 and less than 1");
}

}  // namespace

GraphBuilder::GraphBuilder(const MicroBatch& micro, Dtype compute) : compute_(compute) {
  ZERO_REQUIRE(micro.samples > 0 && micro.length > 0, "micro-batch of ", micro.samples,
               " samples of ", micro.length, " tokens: both must be at least 1");
  const Shape rows{micro.samples * micro.length};
  graph_.samples = micro.samples;
  graph_.length = micro.length;
  graph_.tokens = lasting("tokens", Dtype::i32, rows, Role::input);
  graph_.targets = lasting("targets", Dtype::i32, rows, Role::input);
  graph_.step_inputs =
      lasting("step inputs", Dtype::u8, {int64_t(sizeof(kernels::StepInputs))}, Role::input);
  graph_.step_state =
      lasting("step state", Dtype::u8, {int64_t(sizeof(kernels::StepState))}, Role::state);
  graph_.step_sums = lasting("step sums", Dtype::i64, {kernels::StepSums::kWords}, Role::state);
}

GraphBuilder::GraphBuilder(const Chunk& chunk, Dtype compute)
    : compute_(compute), context_(chunk.context) {
  ZERO_REQUIRE(chunk.length > 0 && chunk.context > 0, "chunks of ", chunk.length,
               " tokens in a context of ", chunk.context, ": both must be at least 1");
  graph_.samples = 1;
  graph_.length = chunk.length;
  graph_.tokens = lasting("tokens", Dtype::i32, {chunk.length}, Role::input);
  graph_.decode_inputs =
      lasting("decode inputs", Dtype::u8, {int64_t(sizeof(kernels::DecodeInputs))}, Role::input);
}

int32_t GraphBuilder::unit(const std::string& name) {
  auto& names = graph_.unit_names;
  const auto found = std::find(names.begin(), names.end(), name);
  unit_ = int32_t(found - names.begin());
  if (found == names.end()) names.push_back(name);
  return unit_;
}

int32_t GraphBuilder::block(const std::string& name) {
  graph_.blocks.push_back(unit(name));
  return unit_;
}

TensorId GraphBuilder::parameter(const ParameterSpec& spec) {
  ZERO_REQUIRE(unit_ >= 0, "parameter ", spec.name, " before the first unit");
  const int64_t numel = spec.shape.numel();
  const int64_t row_numel = numel / std::max<int64_t>(spec.shape[0], 1);
  ZERO_REQUIRE(numel > 0 && spec.padding_rows < spec.shape[0], "parameter ", spec.name, " ",
               to_text(spec.shape), " with ", spec.padding_rows, " rows of padding is empty");
  const TensorId tensor = add_tensor(
      {.name = spec.name, .dtype = compute_, .shape = spec.shape, .role = Role::parameter});
  graph_.parameters.push_back({.tensor = tensor,
                               .unit = unit_,
                               .decays = spec.decays,
                               .init = spec.init,
                               .deviation = spec.deviation,
                               .real_numel = numel - spec.padding_rows * row_numel});
  return tensor;
}

TensorId GraphBuilder::embedding(TensorId token_table, TensorId position_table) {
  const Tensor& tokens = graph_[token_table];
  const Tensor& positions = graph_[position_table];
  require_matrix(tokens);
  require_matrix(positions);
  ZERO_REQUIRE(tokens.shape[1] == positions.shape[1], describe(tokens), " and ",
               describe(positions), " differ in width");
  const int64_t length = continues() ? context_ : graph_.length;
  ZERO_REQUIRE(positions.shape[0] >= length, describe(positions), " has no row for each of ",
               length, " tokens");
  const Shape shape{graph_.samples * graph_.length, tokens.shape[1]};
  const TensorId x = activation("embedding(" + tokens.name + ")", compute_, shape);
  Op op{.kind = OpKind::embedding,
        .inputs = {graph_.tokens, token_table, position_table},
        .outputs = {x}};
  if (continues()) {
    op.kind = OpKind::embedding_at;
    op.inputs.push_back(graph_.decode_inputs);
  }
  add_op(std::move(op));
  return x;
}

TensorId GraphBuilder::dropout_add(TensorId x, TensorId residual, float probability,
                                   const std::string& name) {
  require_probability(probability);
  const Shape shape = graph_[x].shape;
  ZERO_REQUIRE(residual == kNone || graph_[residual].shape == shape, describe(graph_[x]), " and ",
               describe(graph_[residual]), " cannot be added");
  const TensorId y = activation(name, compute_, shape);
  if (continues()) {
    ZERO_REQUIRE(residual != kNone, "no dropout while a text is continued, and ", name,
                 " adds nothing");
    add_op({.kind = OpKind::add, .inputs = {x, residual}, .outputs = {y}});
    return y;
  }
  add_op({.kind = OpKind::dropout_add,
          .inputs = {x, residual, graph_.step_inputs},
          .outputs = {y},
          .attributes = {.probability = probability, .site = sites_++}});
  return y;
}

TensorId GraphBuilder::layernorm(TensorId x, TensorId weight, TensorId bias, float epsilon) {
  require_matrix(graph_[x]);
  const Shape shape = graph_[x].shape;
  require_vector(graph_[weight], graph_[x], shape[1]);
  require_vector(graph_[bias], graph_[x], shape[1]);
  const std::string name = stem(graph_[weight].name);
  const TensorId y = activation(name, compute_, shape);
  const TensorId mean = activation(name + ".mean", Dtype::f32, {shape[0]});
  const TensorId rstd = activation(name + ".rstd", Dtype::f32, {shape[0]});
  add_op({.kind = OpKind::layernorm,
          .inputs = {x, weight, bias},
          .outputs = {y, mean, rstd},
          .attributes = {.epsilon = epsilon}});
  return y;
}

TensorId GraphBuilder::linear(TensorId x, TensorId weight, TensorId bias) {
  require_matrix(graph_[x]);
  require_matrix(graph_[weight]);
  const int64_t rows = graph_[x].shape[0], columns = graph_[weight].shape[1];
  ZERO_REQUIRE(graph_[x].shape[1] == graph_[weight].shape[0], describe(graph_[x]), " times ",
               describe(graph_[weight]), ": inner extents differ");
  require_vector(graph_[bias], graph_[weight], columns);
  const TensorId y = activation(stem(graph_[weight].name), compute_, {rows, columns});
  const OpKind kind = continues() ? OpKind::row_linear : OpKind::linear;
  add_op({.kind = kind, .inputs = {x, weight, bias}, .outputs = {y}});
  return y;
}

TensorId GraphBuilder::gelu(TensorId x) {
  const TensorId y = activation("gelu(" + graph_[x].name + ")", compute_, graph_[x].shape);
  add_op({.kind = OpKind::gelu, .inputs = {x}, .outputs = {y}});
  return y;
}

TensorId GraphBuilder::attention(TensorId qkv, int64_t heads, float dropout, int64_t head_width) {
  require_matrix(graph_[qkv]);
  require_probability(dropout);
  const int64_t width = graph_[qkv].shape[1] / 3;
  ZERO_REQUIRE(heads > 0 && graph_[qkv].shape[1] % (3 * heads) == 0, describe(graph_[qkv]),
               " does not split into three times ", heads, " heads");
  ZERO_REQUIRE(graph_[qkv].shape[0] == graph_.samples * graph_.length, describe(graph_[qkv]),
               " does not have the rows of ", describe(graph_[graph_.tokens]));
  if (continues()) return cached_attention(qkv, heads);
  const std::string name = "attention(" + graph_[qkv].name + ")";
  const TensorId y = activation(name, compute_, {graph_[qkv].shape[0], width});
  const TensorId logsumexp =
      activation(name + ".logsumexp", Dtype::f32, {graph_.samples, heads, graph_.length});
  add_op({.kind = OpKind::attention,
          .inputs = {qkv, graph_.step_inputs},
          .outputs = {y, logsumexp},
          .attributes = {
              .probability = dropout, .site = sites_++, .heads = heads, .head_width = head_width}});
  return y;
}

TensorId GraphBuilder::resize_heads(TensorId weight, int64_t heads, const Shape& shape) {
  const Tensor& from = graph_[weight];
  ZERO_REQUIRE(heads > 0 && from.shape.numel() % heads == 0 && shape.numel() % heads == 0,
               describe(from), " does not split into ", heads, " heads, or what it becomes");
  const TensorId wide = activation(from.name + ".wide", compute_, shape);
  add_op({.kind = OpKind::resize_heads,
          .inputs = {weight},
          .outputs = {wide},
          .attributes = {.heads = heads}});
  return wide;
}

TensorId GraphBuilder::cached_attention(TensorId qkv, int64_t heads) {
  const int64_t rows = graph_[qkv].shape[0], width = graph_[qkv].shape[1] / 3;
  const std::string name = graph_[qkv].name;
  const TensorId cache = lasting(name + ".cache", compute_,
                                 {2 * width, kernels::cache_columns(context_)}, Role::cache);
  const TensorId y = activation("attention(" + name + ")", compute_, {rows, width});
  add_op({.kind = OpKind::cached_attention,
          .inputs = {qkv, cache, graph_.decode_inputs},
          .outputs = {y, cache},
          .attributes = {.heads = heads}});
  return y;
}

void GraphBuilder::logits(TensorId x, TensorId table, int64_t vocabulary) {
  require_head(graph_[x], graph_[table], vocabulary);
  ZERO_REQUIRE(continues(), "logits of a micro-batch: use classifier()");
  graph_.logits = lasting("logits", Dtype::f32, {vocabulary}, Role::output);
  add_op({.kind = OpKind::logits,
          .inputs = {x, table, graph_.decode_inputs},
          .outputs = {graph_.logits},
          .attributes = {.vocabulary = vocabulary}});
}

void GraphBuilder::classifier(TensorId x, TensorId table, int64_t vocabulary, int64_t chunk_rows) {
  require_head(graph_[x], graph_[table], vocabulary);
  ZERO_REQUIRE(!continues(), "a chunk has no targets: use logits()");
  ZERO_REQUIRE(chunk_rows > 0, "chunks of ", chunk_rows, " rows: at least 1");
  add_op({.kind = OpKind::classifier,
          .inputs = {x, table, graph_.targets, graph_.step_inputs, graph_.step_state,
                     graph_.step_sums},
          .outputs = {graph_.step_sums},
          .attributes = {.vocabulary = vocabulary, .chunk_rows = chunk_rows}});
}

Graph GraphBuilder::finish() {
  // A unit that was begun twice has its parameters apart; plans and initialisation want them
  // together.
  std::stable_sort(graph_.parameters.begin(), graph_.parameters.end(),
                   [](const Parameter& a, const Parameter& b) { return a.unit < b.unit; });
  return std::move(graph_);
}

TensorId GraphBuilder::lasting(const std::string& name, Dtype dtype, const Shape& shape,
                               Role role) {
  return add_tensor({.name = name, .dtype = dtype, .shape = shape, .role = role});
}

TensorId GraphBuilder::add_tensor(Tensor tensor) {
  graph_.tensors.push_back(std::move(tensor));
  return TensorId(graph_.tensors.size()) - 1;
}

TensorId GraphBuilder::activation(const std::string& name, Dtype dtype, const Shape& shape) {
  return add_tensor({.name = name, .dtype = dtype, .shape = shape, .role = Role::activation});
}

void GraphBuilder::add_op(Op op) {
  ZERO_REQUIRE(unit_ >= 0, "an op before the first unit");
  op.layer = unit_;
  op.attributes.samples = graph_.samples;
  op.attributes.length = graph_.length;
  graph_.ops.push_back(std::move(op));
}

}  // namespace zero::graph
