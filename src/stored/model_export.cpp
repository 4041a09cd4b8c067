#include <optional>

#include "zero/model/objective.hpp"
#include "zero/state/state_view.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {

ModelDescription describe_model(const RunConfig& config, const setup::Build& build,
                                const DataSets& data) {
  // A token file has a vocabulary of its own, whose tokenizer only the user knows.
  const bool unknown = config.data.tokenizer == "bytes" && data.train_source->vocab_size() > 256;
  const model::Objective* objective = build.recipe.objective;
  return {.model = build.recipe.model,
          .objective = objective && objective->head ? objective : nullptr,
          .alterations = build.recipe.alterations,
          .lender = graph::borrows(build.plan.graphs[0]) ? config.model.init_from : "",
          .classes = data.classes,
          .compute = build.plan.request.compute,
          .tokenizer = unknown ? "" : config.data.tokenizer,
          .sequence_length = config.data.sequence_length,
          .evaluation_micro = build.evaluation_micro ? build.evaluation_micro : build.batch.micro,
          .generation = config.generation};
}

void export_model(const state::StateView& view, const launch::Peers& peers,
                  const std::string& folder, const ModelDescription& description) {
  const graph::Graph& graph = view.plan->graphs[0];
  std::optional<ModelWriter> model;
  if (view.rank == 0) {
    model.emplace(ModelWriter::Options{.folder = folder, .description = description});
  }
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    if (graph.parameters[p].borrowed) continue;
    state::join_state(view, peers, state::StateKind::master, int32_t(p),
                      [&](std::span<const float> piece) { model->add(piece); });
  }
  if (model) model->publish();
}

}  // namespace zero::stored
