/// The program with families of models, a kind of data and an operation that live in tests alone:
/// towers, whose floors mix features and never look at other tokens, but whose bridge looks at a
/// source that is shorter. Units of all floors and of the ground share one norm's scale.
/// runs/another_family.py takes it through the commands. A relay is the same tower, which learns
/// from files of pairs: runs/pairs.py.
#include "tests/families/letter_pairs.hpp"
#include "tests/support/signed_square.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/commands/command_program.hpp"
#include "zero/graph/operations.hpp"
#include "zero/model/objective.hpp"

namespace zero::model {
namespace {

using graph::GraphBuilder;
using graph::Init;
using graph::TensorId;

struct Tower {
  explicit Tower(const Architecture& model)
      : floors(model.numbers.count("floors")),
        width(model.numbers.count("width")),
        inner(model.numbers.count("inner")),
        letters(model.numbers.count("letters")),
        longest(model.numbers.count("longest")),
        source(model.numbers.count("source_length")),
        drop(float(model.numbers.rate("drop"))),
        softness(float(model.numbers.rate("softness"))) {}

  int64_t floors, width, inner, letters, longest, source;
  float drop, softness;
};

/// Writes the same floors for a micro-batch and for a chunk of a text.
struct Writer {
  const Tower& tower;
  GraphBuilder& out;
  float drop;
  TensorId scale = graph::kNone;  ///< of every norm

  TensorId vector(const std::string& name, int64_t extent, Init init) {
    return out.parameter({.name = name, .shape = {extent}, .decays = false, .init = init});
  }
  TensorId norm(TensorId x, const std::string& name) {
    return graph::layernorm(out, x, scale, vector(name + ".shift", tower.width, Init::zeros),
                            tower.softness);
  }
  TensorId linear(TensorId x, const std::string& name, int64_t in, int64_t extent) {
    const TensorId weight = out.parameter({.name = name + ".matrix", .shape = {in, extent}});
    return graph::linear(out, x, weight, vector(name + ".offset", extent, Init::zeros));
  }
  TensorId floor(TensorId x, const std::string& name) {
    out.block(name);
    const TensorId up = linear(norm(x, name + ".norm"), name + ".up", tower.width, tower.inner);
    const TensorId down =
        linear(graph::squared_relu(out, up), name + ".down", tower.inner, tower.width);
    return graph::dropout_add(out, down, x, drop, name);
  }
  TensorId letters(const std::string& name, int64_t length) {
    return out.input({.name = name, .sample = {length}, .ids = tower.letters});
  }
  /// Each row of x looks at all of the source; a text that is continued has none.
  TensorId bridge(TensorId x, TensorId table, TensorId places, bool has_source) {
    out.unit("bridge");
    const TensorId look =
        out.parameter({.name = "bridge.matrix", .shape = {tower.width, tower.source}});
    const TensorId offset = vector("bridge.offset", tower.source, Init::zeros);
    const TensorId shift = vector("bridge.shift", tower.width, Init::zeros);
    if (!has_source) return x;
    const TensorId source = graph::embedding(out, letters("source", tower.source), table, places);
    const TensorId sight = graph::testing::signed_square(out, graph::linear(out, x, look, offset));
    const TensorId seen = graph::linear(out, sight, source, shift);
    return graph::dropout_add(out, seen, x, drop, "bridge");
  }
  TensorId build(TensorId& table, bool has_source) {
    const int64_t rows = round_up<int64_t>(tower.letters, 64);
    out.unit("ground");
    table = out.parameter(
        {.name = "letters", .shape = {rows, tower.width}, .padding_rows = rows - tower.letters});
    const TensorId places =
        out.parameter({.name = "places", .shape = {tower.longest, tower.width}});
    const TensorId marks =
        out.parameter({.name = "source_places", .shape = {tower.source, tower.width}});
    TensorId x = graph::embedding(out, letters("previous", out.length()), table, places);
    x = bridge(x, table, marks, has_source);
    out.unit("shared");
    scale = vector("scale", tower.width, Init::ones);
    for (int64_t i = 0; i < tower.floors; ++i) x = floor(x, "floor" + std::to_string(i));
    out.unit("ground");
    return norm(x, "roof");
  }
};

void require_room(int64_t length, const Tower& tower) {
  if (length <= tower.longest) return;
  refuse(Exit::kUsage, length, " tokens in a tower of ", tower.longest, ": write fewer");
}

Trunk trunk(GraphBuilder& out, const Architecture& model, const ForwardOptions& options) {
  const Tower tower(model);
  require_room(options.micro.length, tower);
  if (options.micro.samples != 1) refuse(Exit::kUsage, "a tower sees one sample at a time");
  Trunk trunk;
  trunk.last = Writer{tower, out, options.training ? tower.drop : 0}.build(trunk.table, true);
  return trunk;
}

void tower_head(GraphBuilder& out, const Architecture& model, const Trunk& trunk,
                const ForwardOptions& options) {
  const Tower tower(model);
  const TensorId next = Writer{tower, out, 0}.letters("next", options.micro.length);
  graph::classifier(out, trunk.last, trunk.table, next, tower.letters, options.micro.length);
}

void relay_head(GraphBuilder& out, const Architecture& model, const Trunk& trunk,
                const ForwardOptions& options) {
  tower_head(out, model, trunk, options);
  Writer{Tower(model), out, 0}.letters("source_count", 1);  // a bridge looks at padding, too
}

graph::Graph tower_decode(const Architecture& model, const graph::Chunk& chunk, Dtype compute) {
  const Tower tower(model);
  require_room(chunk.context, tower);
  GraphBuilder out(chunk, compute);
  Writer writer{tower, out, 0};
  TensorId table = graph::kNone;
  const TensorId last = writer.build(table, false);
  graph::logits(out, last, table, tower.letters);
  return out.finish();
}

int64_t numel(const Architecture& model) {
  const Tower t(model);
  return (t.letters + t.longest + 2 + 2 * t.source + 1) * t.width + t.source +
         t.floors * (2 * t.width + (2 * t.width + 1) * t.inner);
}

double flops(const Architecture& model, const graph::MicroBatch&) {
  return 6.0 * double(numel(model));
}

ModelFamily settings() {
  const Range count{.low = 1, .high = 1 << 20, .automatic = true};
  const auto bytes = [](const RunConfig&) -> int64_t { return 256; };
  const auto length = [](const RunConfig& config) { return config.data.sequence_length; };
  return {.name = "tower",
          .example_input = "tower.toml",
          .counts = {{"floors", count},
                     {"width", count},
                     {"inner", count},
                     {"letters", count, bytes},
                     {"longest", count, length, "data.sequence_length"},
                     {"source_length", count}},
          .rates = {{"drop", {.high = 1, .below_high = true}, 0.1},
                    {"softness", {.high = 1, .above_low = true}, 1e-3, true}},
          .sizes = {{"low", {2, 64, 128, 256, 32, 12}}},
          .rules = {},
          .blocks = {"floors"}};
}

ModelNumbers from_hub(const HubConfig& config) {
  return {.counts = {{"floors", config.count("n_floors", 1000)},
                     {"width", config.count("d_floor", 1 << 20)},
                     {"inner", config.count("d_inner", 1 << 20)},
                     {"letters", config.count("n_letters", 1 << 20)},
                     {"longest", config.count("max_letters", 1 << 20)},
                     {"source_length", config.count("n_source", 1 << 20)}},
          .rates = {{"drop", config.share_or("drop", 0)},
                    {"softness", config.epsilon_or("softness", 1e-3)}}};
}

std::vector<HubEntry> to_hub(const Architecture& model, std::string_view dtype) {
  const Tower tower(model);
  return {{"model_type", "\"tower\""},        {"n_floors", text(tower.floors)},
          {"d_floor", text(tower.width)},     {"d_inner", text(tower.inner)},
          {"n_letters", text(tower.letters)}, {"max_letters", text(tower.longest)},
          {"n_source", text(tower.source)},   {"drop", text(tower.drop)},
          {"softness", text(tower.softness)}, {"torch_dtype", text('"', dtype, '"')}};
}

/// Files hold the matrix upwards as two halves, transposed.
StoredForm stored_form_of(const Architecture&, std::string_view parameter) {
  const std::string name(parameter);
  if (!name.ends_with(".up.matrix")) return {.names = {name}};
  return {.names = {name + ".left", name + ".right"}, .transposed = true};
}

std::string said(const Architecture& model) {
  const Tower tower(model);
  return text(counted(tower.floors, "floor"), " of ", tower.width, " and ", tower.inner, ", ",
              tower.letters, " letters, ", tower.longest, " places, a source of ", tower.source);
}

Probe probe(ProbeSize);

const Family kTower{.settings = settings(),
                    .constants = {},
                    .title = "tower",
                    .hub_type = "tower",
                    .hub_class = "Tower",
                    .stored = {.prefix = "", .copies = {}, .ends = {}, .form = stored_form_of},
                    .dropouts = {},
                    .objectives = {"letter pairs"},
                    .trunk = trunk,
                    .head = tower_head,
                    .decode = tower_decode,
                    .parameter_count = numel,
                    .flops_per_token = flops,
                    .data_form = [](const Architecture& model) -> DataForm {
                      return {.vocabulary = Tower(model).letters,
                              .positions = Tower(model).longest};
                    },
                    .fact = [](const Architecture& model) { return "tower: " + said(model); },
                    .words = said,
                    .from_hub = from_hub,
                    .to_hub = to_hub,
                    .probe = probe};

Family relay() {
  Family family = kTower;
  family.settings.name = family.title = family.hub_type = "relay";
  family.settings.example_input = "relay.toml";
  family.settings.sizes = {{"near", {2, 64, 128, 260, 32, 12}}};
  family.hub_class = "Relay";
  family.objectives = {"pairs", "spans"};
  family.head = relay_head;
  return family;
}

const Family kRelay = relay();

const Objective kLetters{.settings = {.name = "letter pairs", .metrics = {perplexity_metric()}},
                         .data = &letter_pair_data()};

Probe probe(ProbeSize) {
  RunConfig config;
  const Catalogue towers({&kTower}, {&kLetters});
  config.model = {.table = &towers.models, .name = "low"};
  return {architecture_of(config), {.samples = 1, .length = 32}};
}

}  // namespace
}  // namespace zero::model

int main(int argc, char** argv) {
  using namespace zero::model;
  const Catalogue towers({&kTower, &kRelay}, {&kLetters, &pair_objective(), &span_objective()});
  return zero::commands::run_program(argc, argv, towers);
}
