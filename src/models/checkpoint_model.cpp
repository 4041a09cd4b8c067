#include "zero/base/error.hpp"
#include "zero/config/generation.hpp"
#include "zero/models/model_folder.hpp"
#include "zero/models/stored_model.hpp"
#include "zero/save/checkpoint_facts.hpp"

namespace zero::models {
namespace {

/// What the run's own keys leave open.
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
  const std::string& tokenizer = checkpoint.fact(save::kTokenizerFact);
  if (description.tokenizer.empty() && tokenizer != "bytes") description.tokenizer = tokenizer;
  description.generation = completed(generation_in(checkpoint.fact(save::kConfigurationFact)),
                                     generation_of(description.model, checkpoint));
  return description;
}

}  // namespace

CheckpointModel::CheckpointModel(const model::Catalogue& catalogue, const std::string& folder)
    : checkpoint_(folder), description_(description_of(catalogue, checkpoint_)) {
  match();
}

void CheckpointModel::match() const {
  const graph::Graph graph = stored_graph(description_.model);
  for (const auto& [name, shape] : stored_tensors(graph)) {
    const checkpoint::Tensor& found = tensor_of(name);
    if (found.shape == shape) continue;
    refuse(Exit::kInput, path(), ": ", found.name, ": expected ", shape_text(shape), ", found ",
           shape_text(found.shape));
  }
}

const checkpoint::Tensor& CheckpointModel::tensor_of(std::string_view parameter) const {
  const std::string_view prefix = description_.model.family->stored.prefix;
  for (const char* part : {"optimizer/master", "model"}) {
    const std::string name = text(part, "/", prefix, parameter);
    if (const checkpoint::Tensor* found = checkpoint_.tensors().find(name)) return *found;
  }
  refuse(Exit::kInput, path(), ": holds no ", parameter);
}

StoredModel::Settings CheckpointModel::settings() const {
  return {.name = path() + ": its configuration",
          .text = checkpoint_.fact(save::kConfigurationFact),
          .generation = generation_of(description_.model, checkpoint_)};
}

Dtype CheckpointModel::dtype_of(std::string_view parameter) const {
  return tensor_of(parameter).dtype;
}

void CheckpointModel::read(std::string_view parameter, int64_t first, std::span<float> out) const {
  checkpoint_.tensors().read(tensor_of(parameter), first, out);
}

}  // namespace zero::models
