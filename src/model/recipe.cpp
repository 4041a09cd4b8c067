#include "zero/model/recipe.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/graph/passes.hpp"

namespace zero::model {
namespace {

graph::Graph unaltered(const Architecture& model, Purpose purpose, const GraphSizes& sizes) {
  ZERO_REQUIRE(model.family, "a model of no family");
  if (purpose == Purpose::decode) {
    require_decode(model);
    return model.family->decode(model, sizes.chunk, sizes.compute);
  }
  const bool stores = purpose == Purpose::store;
  return model.family->forward(
      model, {.micro = stores ? graph::MicroBatch{.samples = 1, .length = 1} : sizes.micro,
              .compute = stores ? Dtype::f32 : sizes.compute,
              .training = purpose == Purpose::train || purpose == Purpose::probe,
              .chunk_rows = sizes.chunk_rows});
}

/// Adds the family's prefix and each parameter's number of tensors in Hugging Face's files.
graph::Graph with_stored(const Architecture& model, graph::Graph graph) {
  graph.prefix = model.family->stored.prefix;
  for (graph::Parameter& parameter : graph.parameters) {
    const StoredForm form = stored_form(model, graph[parameter.tensor].name);
    parameter.tensors = int32_t(form.names.size());
  }
  return graph;
}

}  // namespace

graph::Graph graph_of(const Recipe& recipe, Purpose purpose, const GraphSizes& sizes) {
  graph::Graph made = with_stored(recipe.model, unaltered(recipe.model, purpose, sizes));
  for (const Alteration& alteration : recipe.alterations) {
    if (std::ranges::find(alteration.purposes, purpose) != alteration.purposes.end())
      made = alteration.apply(recipe.model, std::move(made));
  }
  const bool steps = purpose == Purpose::train || purpose == Purpose::evaluate;
  return steps ? graph::pad_heads(std::move(made), sizes.head_unit) : made;
}

Recipe recipe_of(const RunConfig& config) {
  Recipe recipe{.model = architecture_of(config)};
  if (!config.model.freeze.empty()) recipe.alterations = {freezing(config.model.freeze)};
  return recipe;
}

}  // namespace zero::model
