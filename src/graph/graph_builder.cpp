#include "zero/graph/graph_builder.hpp"

#include <algorithm>
#include <utility>

#include "zero/kernels/step_state.hpp"

namespace zero::graph {

GraphBuilder::GraphBuilder(const MicroBatch& micro, Dtype compute) : compute_(compute) {
  ZERO_REQUIRE(micro.samples > 0 && micro.length > 0, "micro-batch of ", micro.samples,
               " samples of ", micro.length, " tokens: both must be at least 1");
  graph_.samples = micro.samples;
  graph_.length = micro.length;
  graph_.step_inputs = add_input(
      {.name = "step inputs", .dtype = Dtype::u8, .shape = {int64_t(sizeof(kernels::StepInputs))}},
      FilledBy::step, 0);
  graph_.step_state =
      lasting("step state", Dtype::u8, {int64_t(sizeof(kernels::StepState))}, Role::state);
  graph_.outputs.push_back(
      {.name = kLossOutput,
       .tensor = lasting("step sums", Dtype::i64, {kernels::StepSums::kWords}, Role::state)});
}

GraphBuilder::GraphBuilder(const Chunk& chunk, Dtype compute) : compute_(compute), chunk_(chunk) {
  ZERO_REQUIRE(chunk.length > 0 && chunk.context > 0 && chunk.texts > 0, "chunks of ", chunk.length,
               " tokens in a context of ", chunk.context, " for each of ", chunk.texts,
               " texts: all must be at least 1");
  ZERO_REQUIRE(
      (chunk.source_context > 0) == (chunk.sources > 0) && (chunk.sources > 0 || !chunk.encodes),
      chunk.sources, " sources of ", chunk.source_context, " tokens");
  graph_.samples = 1;
  graph_.length = chunk.length;
  graph_.decode_inputs = add_input({.name = "decode inputs",
                                    .dtype = Dtype::u8,
                                    .shape = {int64_t(sizeof(kernels::DecodeInputs))}},
                                   FilledBy::step, 0);
  const auto add = [&](const char* name, const Shape& shape) {
    add_input({.name = name, .dtype = Dtype::i32, .shape = shape}, FilledBy::generation, 0);
  };
  add(kRowsInput, {chunk.length, int64_t(sizeof(kernels::ChunkRow) / sizeof(int32_t))});
  add(kMovesInput, {chunk.texts, int64_t(sizeof(kernels::CacheMove) / sizeof(int32_t))});
  add(kLogitRowsInput, {chunk.texts});
}

GraphBuilder::GraphBuilder(Graph graph)
    : graph_(std::move(graph)), compute_(graph_[graph_.parameters.at(0).tensor].dtype) {
  if (graph_.decode_inputs != kNone) chunk_ = {.length = graph_.length, .context = graph_.length};
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
                               .columns = spec.shape[spec.shape.rank() - 1],
                               .front_columns = spec.front_columns,
                               .front_deviation = spec.front_deviation,
                               .real_numel = numel - spec.padding_rows * row_numel,
                               .stored = spec.stored});
  StoredForm& stored = graph_.parameters.back().stored;
  if (stored.names.empty()) stored.names = {spec.name};
  return tensor;
}

TensorId GraphBuilder::input(const InputSpec& spec) {
  ZERO_REQUIRE(spec.sample.rank() > 0 && spec.sample.numel() > 0, "an input ", spec.name, " of ",
               to_text(spec.sample), " a sample is empty");
  ZERO_REQUIRE(spec.ids == 0 || spec.dtype == Dtype::i32, "the ids of input ", spec.name,
               " are not of type i32");
  Shape shape = spec.sample;
  shape[0] *= graph_.samples;
  return add_input({.name = spec.name, .dtype = spec.dtype, .shape = shape},
                   continues() ? FilledBy::generation : FilledBy::data, spec.ids);
}

Graph GraphBuilder::finish() {
  // Sorts parameters by unit, because a unit begun twice has its parameters apart.
  std::stable_sort(graph_.parameters.begin(), graph_.parameters.end(),
                   [](const Parameter& a, const Parameter& b) { return a.unit < b.unit; });
  if (continues()) drop_unread_inputs();
  return std::move(graph_);
}

void GraphBuilder::drop_unread_inputs() {
  std::erase_if(graph_.inputs, [&](const Input& input) {
    return input.filled_by == FilledBy::generation &&
           std::ranges::none_of(graph_.ops, [&](const Op& op) {
             return std::ranges::find(op.inputs, input.tensor) != op.inputs.end();
           });
  });
}

TensorId GraphBuilder::add_input(const Tensor& tensor, FilledBy filled_by, int64_t ids) {
  const TensorId id = lasting(tensor.name, tensor.dtype, tensor.shape, Role::input);
  graph_.inputs.push_back({.tensor = id, .filled_by = filled_by, .ids = ids});
  return id;
}

TensorId GraphBuilder::output(const std::string& name, Dtype dtype, const Shape& shape) {
  const TensorId tensor = lasting(name, dtype, shape, Role::output);
  graph_.outputs.push_back({.name = name, .tensor = tensor});
  return tensor;
}

TensorId GraphBuilder::lasting(const std::string& name, Dtype dtype, const Shape& shape,
                               Role role) {
  return add_tensor({.name = name, .dtype = dtype, .shape = shape, .role = role});
}

TensorId GraphBuilder::constant(const std::string& name, const Shape& shape,
                                std::vector<float> values) {
  ZERO_REQUIRE(!values.empty() && int64_t(values.size()) == shape.numel(), "constant ", name, " ",
               to_text(shape), " with ", values.size(), " values");
  for (const Constant& made : graph_.constants) {
    if (graph_[made.tensor].shape == shape && *made.values == values) return made.tensor;
  }
  const TensorId tensor = lasting(name, Dtype::f32, shape, Role::constant);
  graph_.constants.push_back(
      {.tensor = tensor, .values = std::make_shared<const std::vector<float>>(std::move(values))});
  return tensor;
}

TensorId GraphBuilder::add_tensor(Tensor tensor) {
  graph_.tensors.push_back(std::move(tensor));
  return TensorId(graph_.tensors.size()) - 1;
}

TensorId GraphBuilder::activation(const std::string& name, Dtype dtype, const Shape& shape) {
  return add_tensor({.name = name, .dtype = dtype, .shape = shape, .role = Role::activation});
}

void GraphBuilder::add(Op op) {
  ZERO_REQUIRE(unit_ >= 0, "an op before the first unit");
  if (continues() && chunk_.encodes != (side_ == Side::source)) return;
  op.unit = unit_;
  graph_.ops.push_back(std::move(op));
}

}  // namespace zero::graph
