#include "src/text/row_decoder.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/compile/compile.hpp"
#include "zero/graph/operation.hpp"
#include "zero/kernels/decode.hpp"
#include "zero/model/recipe.hpp"
#include "zero/state/state_view.hpp"

namespace zero::writing {

struct RowDecoder::ParameterLayout {
  const plan::Unit* unit;
  int64_t begin;
  std::optional<kernels::WeightPanels> panels;  ///< none: row by row
};

namespace {

plan::Plan compile(const model::Recipe& recipe, const RowDecoder::Options& options) {
  plan::Request request = options.together ? options.together->request : plan::Request{};
  request.compute = options.compute;
  request.threads = options.threads;
  const auto graph_of = [&](graph::Chunk chunk) {
    chunk.most_rows = std::max(options.decode.length, options.prefill.length);
    return model::graph_of(recipe, model::Purpose::decode,
                           {.chunk = chunk, .compute = options.compute});
  };
  return plan::compile_decode(request, graph_of(options.decode), graph_of(options.prefill));
}

/// Calls `set` for weights that some op of the graph reads in panels.
void find_panels(const graph::Graph& graph, const auto& set) {
  const std::vector<int32_t> parameter_of = graph::parameter_index(graph);
  for (const graph::Op& op : graph.ops) {
    if (op.kind->panelled == nullptr) continue;
    const graph::TensorId weight = op.kind->panelled(op);
    const Shape& shape = graph[weight].shape;
    set(size_t(parameter_of[size_t(weight)]), kernels::WeightPanels{shape[0], shape[1]});
  }
}

/// Returns the layouts, [parameters].
template <class Layout>
std::vector<Layout> find_layouts(const plan::Plan& plan) {
  std::vector<Layout> layouts(plan.graphs[0].parameters.size());
  for (const plan::Unit& unit : plan.units) {
    for (const plan::UnitParameter& placed : unit.parameters)
      layouts[size_t(placed.parameter)] = {.unit = &unit, .begin = placed.begin, .panels = {}};
  }
  for (const graph::Graph& graph : plan.graphs) {
    find_panels(graph, [&](size_t parameter, const kernels::WeightPanels& panels) {
      layouts[parameter].panels = panels;
    });
  }
  return layouts;
}

/// Returns the lent part, or an empty arena if it is too small.
Arena lent_arena(const plan::Plan& plan, const LentMemory& lent) {
  const int64_t bytes = plan.arena_bytes[size_t(plan::Tier::device)];
  if (lent.arena == nullptr || lent.arena->bytes() - lent.begin < bytes) return {};
  return Arena::part_of(*lent.arena, lent.begin);
}

template <class Item, class From>
void fill(run::Buffers& buffers, int32_t buffer, const From& from, const auto& item) {
  if (buffer < 0 || from.empty()) return;
  buffers.fill<Item>(buffer, int64_t(from.size()), [&](std::span<Item> place) {
    for (size_t i = 0; i < place.size(); ++i) place[i] = item(from[i]);
  });
}

}  // namespace

plan::TierBytes RowDecoder::bytes(const model::Recipe& recipe, const Options& options) {
  return compile(recipe, options).arena_bytes;
}

RowDecoder::RowDecoder(const model::Recipe& recipe, const Options& options)
    : vocabulary_(model::data_form(recipe.model).vocabulary),
      plan_(compile(recipe, options)),
      layouts_(find_layouts<ParameterLayout>(plan_)),
      inputs_{find_inputs(0), find_inputs(1)},
      executor_(plan_, {}, options.together ? options.together->comms : run::LaneComms{}, {},
                lent_arena(plan_, options.lent)),
      logits_buffer_(plan_.output(0, graph::kLogitsOutput)) {
  if (options.lent.arena != nullptr) clear();
  if (options.together) {
    rank_ = options.together->rank;
    planned_ = options.together->planned;
    sends_ = plan::collectives_of(plan_, options.together->borders);
    if (options.together->watch) watchdog_ = options.together->watch(plan_, executor_);
  }
  if (!executor_.buffers().on_host(logits_buffer_))
    fetched_.resize(size_t(options.decode.texts * vocabulary_));
}

RowDecoder::~RowDecoder() = default;

/// Zeros padding of weights and unwritten cache entries, also in lent memory.
void RowDecoder::clear() {
  constexpr int64_t kPiece = 1 << 20;
  const std::vector<std::byte> zeros(static_cast<size_t>(kPiece));
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    const plan::Buffer& buffer = plan_.buffers[b];
    if (!buffer.persistent || buffer.use == plan::Use::constants) continue;
    for (int64_t at = 0; at < buffer.bytes; at += kPiece) {
      const int64_t bytes = std::min(kPiece, buffer.bytes - at);
      executor_.buffers().write(int32_t(b), at, std::span(zeros).first(size_t(bytes)));
    }
  }
}

RowDecoder::Inputs RowDecoder::find_inputs(int32_t graph) const {
  Inputs found;
  for (const plan::InputBuffer& input : plan_.inputs) {
    if (input.graph != graph || input.filled_by != graph::FilledBy::generation) continue;
    if (input.ids > 0) {
      found.tokens = input.buffer;
      found.room = input.bytes / int64_t(sizeof(int32_t));
    }
    if (input.name == graph::kRowsInput) found.rows = input.buffer;
    if (input.name == graph::kMovesInput) found.moves = input.buffer;
    if (input.name == graph::kLogitRowsInput) found.logits = input.buffer;
  }
  return found;
}

void RowDecoder::set_parameter(int32_t index, int64_t first, std::span<const float> values) {
  const graph::Parameter& parameter = graph().parameters.at(size_t(index));
  ZERO_REQUIRE(first >= 0 && first + int64_t(values.size()) <= parameter.real_numel, "elements ",
               first, " + ", values.size(), " of parameter ", graph()[parameter.tensor].name,
               ", which has ", parameter.real_numel);
  const state::StateView view = state::view_of(plan_, rank_, executor_.buffers());
  const ParameterLayout& layout = layouts_[size_t(index)];
  if (!layout.panels) return state::write_master(view, *layout.unit, layout.begin + first, values);
  std::vector<float> part;
  for (int64_t panel = 0; panel < layout.panels->count(); ++panel) {
    const int64_t at = layout.panels->take(panel, first, values, part);
    state::write_master(view, *layout.unit, layout.begin + at, part);
  }
}

void RowDecoder::run(plan::BodyId body, const Chunk& chunk) {
  const Inputs& to = inputs_[size_t(plan_.bodies[body].graph)];
  ZERO_REQUIRE(int64_t(chunk.rows.size()) <= to.room, chunk.rows.size(), " rows in a chunk of ",
               to.room);
  run::Buffers& buffers = executor_.buffers();
  fill<int32_t>(buffers, to.tokens, chunk.rows, [](const TokenRow& row) { return row.token; });
  fill<kernels::ChunkRow>(buffers, to.rows, chunk.rows,
                          [](const TokenRow& row) { return row.place; });
  fill<kernels::CacheMove>(buffers, to.moves, chunk.moves, [](const auto& move) { return move; });
  fill<int32_t>(buffers, to.logits, chunk.logits, [](int32_t row) { return row; });
  const launch::Watchdog::Armed armed(watchdog_.get());
  executor_.run_chunk(body, {.rows = int64_t(chunk.rows.size()),
                             .moves = int64_t(chunk.moves.size()),
                             .logits = int64_t(chunk.logits.size())});
  if (planned_) plan::add(*planned_, sends_[body]);
  wanted_ = int64_t(chunk.logits.size());
}

std::span<const float> RowDecoder::logits() {
  const size_t numel = size_t(wanted_ * vocabulary_);
  if (fetched_.empty()) return executor_.buffers().values<float>(logits_buffer_).first(numel);
  const std::span<float> wanted = std::span(fetched_).first(numel);
  executor_.buffers().read(logits_buffer_, 0, std::as_writable_bytes(wanted));
  return wanted;
}

}  // namespace zero::writing
