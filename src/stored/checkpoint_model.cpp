#include <algorithm>

#include "src/stored/fresh_parameters.hpp"
#include "zero/base/error.hpp"
#include "zero/config/generation_keys.hpp"
#include "zero/config/read_config.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/stored/lent_weights.hpp"
#include "zero/stored/model_folder.hpp"
#include "zero/stored/stored_model.hpp"

namespace zero::stored {
namespace {

/// Returns the settings of the run that saved a checkpoint.
RunConfig settings_of(const model::Catalogue& catalogue, const save::StoredCheckpoint& checkpoint) {
  return read_config(catalogue.models, checkpoint.fact(save::kConfigurationFact),
                     checkpoint.folder() + ": its configuration", {}, Writer::run)
      .config;
}

/// Returns the alterations of a checkpoint's network. A network without any is its family's.
std::vector<model::Alteration> alterations_of(const model::Catalogue& catalogue,
                                              const save::StoredCheckpoint& checkpoint,
                                              const model::Recipe& unaltered) {
  const std::string& saved = checkpoint.fact(save::kArchitectureFact);
  if (!saved.starts_with(model::fact(unaltered) + ", ")) return {};
  return model::recipe_of(settings_of(catalogue, checkpoint)).alterations;
}

/// Returns the generation settings that the run's own keys leave open.
GenerationConfig generation_of(const model::Architecture& model,
                               const save::StoredCheckpoint& checkpoint) {
  return parse_generation(model, checkpoint.fact(save::kGenerationFact),
                          checkpoint.folder() + ": its generation");
}

ModelDescription description_of(const model::Catalogue& catalogue,
                                const save::StoredCheckpoint& checkpoint) {
  const std::string& words = checkpoint.fact(save::kDescriptionFact);
  if (words.empty()) {
    refuse(Exit::kInput, checkpoint.folder(), ": does not say what model it is of; a resume of ",
           "its run writes one that does");
  }
  ModelDescription description =
      parse_description(catalogue, words, checkpoint.folder() + ": its model");
  description.alterations = alterations_of(catalogue, checkpoint, description.recipe());
  save::require_model_fits(checkpoint.manifest().facts, description.recipe(), checkpoint.folder());
  const std::string& tokenizer = checkpoint.fact(save::kTokenizerFact);
  if (description.tokenizer.empty() && tokenizer != "bytes") description.tokenizer = tokenizer;
  const GenerationConfig own = generation_in(checkpoint.fact(save::kConfigurationFact));
  description.generation = completed(own, generation_of(description.model, checkpoint));
  if (own == GenerationConfig())
    description.generation_text = checkpoint.fact(save::kGenerationFact);
  return description;
}

}  // namespace

CheckpointModel::CheckpointModel(const model::Catalogue& catalogue, const std::string& folder,
                                 const RunConfig* training)
    : checkpoint_(folder), description_(description_of(catalogue, checkpoint_)) {
  if (training) {
    take_task(*training, description_);
    description_.objective = training_head(*training, description_.model);
  }
  const graph::Graph graph = stored_graph(description_.recipe());
  if (graph::borrows(graph)) open_lender(catalogue, graph);
  anew_ = fresh_parameters(description_.model, training);
  match(graph, training != nullptr);
}

void CheckpointModel::open_lender(const model::Catalogue& catalogue, const graph::Graph& graph) {
  description_.lender = settings_of(catalogue, checkpoint_).model.init_from;
  lender_ = open_model(catalogue, find_model(catalogue, description_.lender));
  const std::string all = lent_share(*lender_, graph, 0, 1);
  require_lent(*lender_, lent_digest({&all, 1}), checkpoint_.manifest().facts, path());
}

void CheckpointModel::match(const graph::Graph& graph, bool may_draw) {
  std::vector<std::string> names, drawn;
  std::string first;
  for (const auto& [name, shape] : stored_tensors(graph)) {
    names.push_back(name);
    const checkpoint::Tensor* found = find(name);
    const bool is_held = (lender_ && !found) || (found && found->shape == shape);
    if (is_held && !is_anew(name)) continue;
    drawn.push_back(name);
    if (is_anew(name) || !first.empty()) continue;
    first = found ? text(found->name, ": expected ", shape_text(shape), ", found ",
                         shape_text(found->shape))
                  : "holds no " + name;
  }
  const std::string prefix = saved_weights_prefix(description_.model);
  for (const checkpoint::Tensor& tensor : checkpoint_.manifest().tensors) {
    if (!tensor.name.starts_with(prefix)) continue;
    const std::string name = tensor.name.substr(prefix.size());
    if (std::ranges::find(names, name) == names.end()) other_heads_.push_back(name);
  }
  if (first.empty()) return;
  refuse(Exit::kInput, path(), ": ", first, may_draw ? "; " + reinit_advice(names, drawn) : "");
}

const checkpoint::Tensor* CheckpointModel::find(std::string_view parameter) const {
  const std::string_view prefix = description_.model.family->stored.prefix;
  for (const char* part : {"optimizer/master", "model"}) {
    const std::string name = text(part, "/", prefix, parameter);
    if (const checkpoint::Tensor* found = checkpoint_.tensors().find(name)) return found;
  }
  return nullptr;
}

const checkpoint::Tensor& CheckpointModel::tensor_of(std::string_view parameter) const {
  if (const checkpoint::Tensor* found = find(parameter)) return *found;
  refuse(Exit::kInput, path(), ": holds no ", parameter);
}

StoredModel::Settings CheckpointModel::settings() const {
  return {.name = path() + ": its configuration",
          .text = checkpoint_.fact(save::kConfigurationFact),
          .generation = generation_of(description_.model, checkpoint_)};
}

Dtype CheckpointModel::dtype_of(std::string_view parameter) const {
  return lender_ && !find(parameter) ? lender_->dtype_of(parameter) : tensor_of(parameter).dtype;
}

bool CheckpointModel::holds(std::string_view parameter) const {
  return find(parameter) || (lender_ && lender_->holds(parameter));
}

void CheckpointModel::read(std::string_view parameter, int64_t first, std::span<float> out) const {
  if (lender_ && !find(parameter)) return lender_->read(parameter, first, out);
  checkpoint_.tensors().read(tensor_of(parameter), first, out);
}

}  // namespace zero::stored
