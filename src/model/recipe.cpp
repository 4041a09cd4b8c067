#include "zero/model/recipe.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/graph/token_scores.hpp"
#include "zero/model/objective.hpp"

namespace zero::model {
namespace {

bool has_other_head(const Recipe& recipe) { return recipe.objective && recipe.objective->head; }

/// Returns the forward graph: the family's trunk, and the head of the objective or its own.
graph::Graph forward(const Recipe& recipe, ForwardOptions options) {
  const Family& family = *recipe.model.family;
  options.own_head = !has_other_head(recipe);
  graph::GraphBuilder out(options.micro, options.compute);
  const Trunk trunk = family.trunk(out, recipe.model, options);
  (options.own_head ? family.head : recipe.objective->head)(out, recipe.model, trunk, options);
  return out.finish();
}

graph::Graph unaltered(const Recipe& recipe, Purpose purpose, const GraphSizes& sizes) {
  const Architecture& model = recipe.model;
  ZERO_REQUIRE(model.family, "a model of no family");
  if (purpose == Purpose::decode) {
    require_decode(recipe);
    return model.family->decode(model, sizes.chunk, sizes.compute);
  }
  const bool stores = purpose == Purpose::store;
  ZERO_REQUIRE(!sizes.packed || model.family->packs, "samples of several texts for ",
               model.family->title, ", which does not keep them apart");
  return forward(recipe,
                 {.micro = stores ? graph::MicroBatch{.samples = 1, .length = 1} : sizes.micro,
                  .compute = stores ? Dtype::f32 : sizes.compute,
                  .training = purpose == Purpose::train || purpose == Purpose::probe,
                  .chunk_rows = sizes.chunk_rows,
                  .packed = sizes.packed && !stores});
}

/// Returns what a fact and words append for another head, rates of the network and alterations.
std::string other_words(const Recipe& recipe) {
  std::string words;
  if (has_other_head(recipe)) words += text(", a head for ", recipe.objective->settings.name);
  for (const ModelRate& rate : recipe.model.family->settings.rates) {
    if (!rate.network) continue;
    words += text(", ", rate.name, ' ', float(recipe.model.numbers.rate(rate.name)));
  }
  for (const Alteration& alteration : recipe.alterations)
    words += text(alteration.fact.empty() ? "" : ", ", alteration.fact);
  return words;
}

int64_t real_numel(const graph::Graph& graph) {
  int64_t numel = 0;
  for (const graph::Parameter& parameter : graph.parameters) numel += parameter.real_numel;
  return numel;
}

std::optional<Alteration> asked_freeze(const RunConfig& config) {
  if (config.model.freeze.empty()) return {};
  return freezing(config.model.freeze);
}

/// Adds the family's prefix, and each parameter's form in Hugging Face's files.
graph::Graph with_stored(const Architecture& model, graph::Graph graph) {
  graph.prefix = model.family->stored.prefix;
  for (graph::Parameter& parameter : graph.parameters)
    parameter.stored = stored_form(model, graph[parameter.tensor].name);
  return graph;
}

}  // namespace

graph::Graph graph_of(const Recipe& recipe, Purpose purpose, const GraphSizes& sizes) {
  graph::Graph made = with_stored(recipe.model, unaltered(recipe, purpose, sizes));
  for (const Alteration& alteration : recipe.alterations) {
    if (std::ranges::find(alteration.purposes, purpose) != alteration.purposes.end())
      made = alteration.apply(recipe.model, std::move(made));
  }
  if (sizes.scores_tokens && purpose == Purpose::evaluate)
    made = graph::score_tokens(std::move(made));
  const bool steps = purpose == Purpose::train || purpose == Purpose::evaluate;
  return steps ? graph::pad_heads(std::move(made), sizes.head_unit) : made;
}

Recipe recipe_of(const RunConfig& config) {
  Recipe recipe{.model = architecture_of(config), .objective = &objective_for(config)};
  for (const AlterationKind* kind : family_of(config.model).alterations) {
    std::optional<Alteration> asked = kind->asked(config);
    if (asked) recipe.alterations.push_back(std::move(*asked));
  }
  return recipe;
}

std::vector<const AlterationKind*> alteration_kinds() {
  static const AlterationKind kFreeze{asked_freeze};
  return {&kFreeze};
}

void require_decode(const Recipe& recipe) {
  const Family& family = *recipe.model.family;
  if (family.decode && !has_other_head(recipe)) return;
  const std::string head =
      has_other_head(recipe) ? text(" with a head for ", recipe.objective->settings.name) : "";
  refuse(Exit::kUsage, "a ", family.title, head,
         " writes no texts: zeroapp eval measures its loss");
}

/// Counts the family's parameters by its row, because a graph also has buffers.
int64_t parameter_count(const Recipe& recipe) {
  const int64_t own = recipe.model.family->parameter_count(recipe.model);
  if (recipe.alterations.empty() && !has_other_head(recipe)) return own;
  const int64_t altered = real_numel(graph_of(recipe, Purpose::store));
  return own + altered - real_numel(unaltered({recipe.model}, Purpose::store, {}));
}

double flops_per_token(const Recipe& recipe, const graph::MicroBatch& micro) {
  return recipe.model.family->flops_per_token(recipe.model, micro);
}

/// Omits constants with the family's usual value, as the checkpoint format does.
std::string fact(const Recipe& recipe) {
  const auto& [family, numbers] = recipe.model;
  std::string words = family->fact(recipe.model);
  for (const auto& [name, usual] : family->constants) {
    const double rate = numbers.rate(name);
    if (rate != double(float(usual))) words += text(", ", name, ' ', float(rate));
  }
  return words + other_words(recipe);
}

std::string words(const Recipe& recipe) {
  return recipe.model.family->words(recipe.model) + other_words(recipe);
}

}  // namespace zero::model
