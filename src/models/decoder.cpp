#include <algorithm>
#include <optional>
#include <vector>

#include "zero/compile/compile.hpp"
#include "zero/graph/operation.hpp"
#include "zero/kernels/decode.hpp"
#include "zero/models/generator.hpp"
#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {
namespace {

/// Tokens of a text's beginning that go through the model together: their weights are read once.
constexpr int64_t kChunk = 64;

int64_t context_of(const model::Architecture& model, const Decoder::Options& options) {
  const int64_t positions = model::data_form(model).positions;
  if (options.context >= 0) return options.context == 0 ? positions : options.context;
  refuse(Exit::kUsage, "a context of ", options.context, " tokens: at least 1, or 0 for all ",
         positions, " positions of the model");
}

plan::Plan compile(const model::Architecture& model, const Decoder::Options& options) {
  if (options.compute == Dtype::f16) {
    refuse(Exit::kUsage, "a text is continued in fp32 or bf16, not in fp16");
  }
  const int64_t context = context_of(model, options);
  const auto graph_of = [&](int64_t length) {
    return model::decode(model, {.length = length, .context = context}, options.compute);
  };
  plan::Request request;
  request.compute = options.compute;
  request.threads = options.threads;
  return plan::compile_decode(request, graph_of(1), graph_of(std::min(kChunk, context)));
}

/// Where a parameter lies, and in which order.
struct ParameterLayout {
  const plan::Unit* unit;
  int64_t begin;
  std::optional<kernels::WeightPanels> panels;  ///< none: row by row
};

/// [parameters]
std::vector<ParameterLayout> find_layouts(const plan::Plan& plan) {
  const graph::Graph& graph = plan.graphs[0];
  std::vector<ParameterLayout> layouts(graph.parameters.size());
  for (const plan::Unit& unit : plan.units) {
    for (const plan::Placement& placed : unit.placements)
      layouts[size_t(placed.parameter)] = {.unit = &unit, .begin = placed.begin, .panels = {}};
  }
  const std::vector<int32_t> parameter_of = graph::parameter_index(graph);
  for (const graph::Op& op : graph.ops) {
    if (op.kind->panelled == nullptr) continue;
    const graph::TensorId weight = op.kind->panelled(op);
    const Shape& shape = graph[weight].shape;
    layouts[size_t(parameter_of[size_t(weight)])].panels = {shape[0], shape[1]};
  }
  return layouts;
}

/// Stores elements of a parameter from `first` on, panel by panel where it lies in panels.
void store(const state::StateView& view, const ParameterLayout& layout, int64_t first,
           std::span<const float> values) {
  if (!layout.panels) return state::write_master(view, *layout.unit, layout.begin + first, values);
  std::vector<float> part;
  for (int64_t panel = 0; panel < layout.panels->count(); ++panel) {
    const int64_t at = layout.panels->take(panel, first, values, part);
    state::write_master(view, *layout.unit, layout.begin + at, part);
  }
}

}  // namespace

struct Decoder::Parts {
  Parts(const model::Architecture& model, const Options& options)
      : vocabulary(model::data_form(model).vocabulary),
        context(context_of(model, options)),
        plan(compile(model, options)),
        layouts(find_layouts(plan)),
        executor(plan, {}, {}),
        logits_buffer(plan.output(0, graph::kLogitsOutput)) {
    if (!executor.buffers().on_host(logits_buffer)) fetched.resize(size_t(vocabulary));
  }

  void require_room(std::span<const int32_t> tokens) const {
    if (int64_t(tokens.size()) > context - position) {
      refuse(Exit::kUsage, tokens.size(), " tokens more than the ", position, " in a context of ",
             context, ": ask for fewer, or shorten the prompt");
    }
    for (int32_t token : tokens) {
      if (token >= 0 && token < vocabulary) continue;
      refuse(Exit::kUsage, "token ", token, " is none of the model's ", vocabulary,
             ": the text was encoded with another vocabulary");
    }
  }

  /// One body; what is behind the last token of a chunk is not looked at.
  void run(plan::BodyId body, std::span<const int32_t> tokens) {
    const int32_t graph = plan.bodies[body].graph;
    executor.buffers().fill<int32_t>(
        plan.input(graph, graph::FilledBy::generation).buffer, int64_t(tokens.size()),
        [&](std::span<int32_t> place) { std::ranges::copy(tokens, place.begin()); });
    executor.run_chunk(body,
                       kernels::DecodeInputs{.position = position, .rows = int64_t(tokens.size())});
    position += int64_t(tokens.size());
  }

  std::span<const float> logits() {
    if (fetched.empty()) return executor.buffers().values<float>(logits_buffer);
    executor.buffers().read(logits_buffer, 0, std::as_writable_bytes(std::span(fetched)));
    return fetched;
  }

  int64_t vocabulary;
  int64_t context;
  plan::Plan plan;
  std::vector<ParameterLayout> layouts;
  run::Executor executor;
  int32_t logits_buffer;
  std::vector<float> fetched;  ///< logits of a device; empty where the host reads them in place
  int64_t position = 0;
};

int64_t Decoder::bytes(const model::Architecture& model, const Options& options) {
  int64_t sum = 0;
  for (const int64_t bytes : compile(model, options).arena_bytes) sum += bytes;
  return sum;
}

Decoder::Decoder(const model::Architecture& model, const Options& options)
    : parts_(std::make_unique<Parts>(model, options)) {}
Decoder::~Decoder() = default;

const graph::Graph& Decoder::graph() const { return parts_->plan.graphs[0]; }

void Decoder::set_parameter(int32_t index, int64_t first, std::span<const float> values) {
  const graph::Parameter& parameter = graph().parameters.at(size_t(index));
  ZERO_REQUIRE(first >= 0 && first + int64_t(values.size()) <= parameter.real_numel, "elements ",
               first, " + ", values.size(), " of parameter ", graph()[parameter.tensor].name,
               ", which has ", parameter.real_numel);
  store(state::view_of(parts_->plan, 0, parts_->executor.buffers()), parts_->layouts[size_t(index)],
        first, values);
}

std::span<const float> Decoder::feed(std::span<const int32_t> tokens) {
  ZERO_REQUIRE(!tokens.empty(), "no token to go on from");
  parts_->require_room(tokens);
  const size_t chunk = size_t(std::min(kChunk, parts_->context));
  while (!tokens.empty()) {
    const size_t count = std::min(chunk, tokens.size());
    parts_->run(count == 1 ? plan::kDecode : plan::kPrefill, tokens.first(count));
    tokens = tokens.subspan(count);
  }
  return parts_->logits();
}

int64_t Decoder::position() const { return parts_->position; }
void Decoder::clear() { parts_->position = 0; }

}  // namespace zero::models
