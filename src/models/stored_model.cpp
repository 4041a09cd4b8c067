#include "zero/models/stored_model.hpp"

#include <algorithm>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/config/generation.hpp"
#include "zero/launch/files.hpp"
#include "zero/models/model_folder.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {
namespace {

constexpr int64_t kPieceNumel = 1 << 20;

/// Fills what `view` holds of each unit, of which `is_sharded` says whether that is a shard.
template <class IsSharded>
void load(const StoredModel& model, const state::StateView& view, const IsSharded& is_sharded) {
  const graph::Graph& graph = view.plan->graphs[0];
  for (const plan::Unit& unit : view.plan->units) {
    const state::UnitRange held = state::held_range(unit, is_sharded(unit), view.rank);
    for (const plan::UnitParameter& place : unit.parameters) {
      const graph::Parameter& parameter = graph.parameters[size_t(place.parameter)];
      const int64_t begin = std::max<int64_t>(0, held.begin - place.begin);
      const int64_t end = std::min(parameter.real_numel, held.end - place.begin);
      read_pieces(model, graph[parameter.tensor].name, begin, end,
                  [&](int64_t first, std::span<const float> piece) {
                    state::write_master(view, unit, place.begin + first, piece);
                  });
    }
  }
}

}  // namespace

std::string find_model(const model::Catalogue& catalogue, const std::string& folder) {
  for (const std::string& place : {folder, folder + "/model"}) {
    if (is_there(place + "/config.json")) return place;
  }
  if (!is_there(folder)) refuse(Exit::kInput, launch::no_folder_text(folder));
  if (save::holds_checkpoints(folder)) return save::StoredCheckpoint(folder).folder();
  refuse(Exit::kInput, folder, ": holds no trained model: neither config.json nor model/ nor ",
         "checkpoints - name a run, train with export.at_end=true, or name a folder with a ",
         catalogue.titles(), "'s config.json and model.safetensors");
}

std::unique_ptr<StoredModel> open_model(const model::Catalogue& catalogue,
                                        const std::string& found) {
  if (is_there(found + "/config.json")) return std::make_unique<ModelFolder>(catalogue, found);
  return std::make_unique<CheckpointModel>(catalogue, found);
}

std::unique_ptr<StoredModel> open_model(launch::Session& session, const model::Catalogue& catalogue,
                                        const std::string& folder) {
  std::string found;
  // A run that is still alive may save meanwhile.
  session.on_every_rank([&] {
    if (session.is_first()) found = find_model(catalogue, folder);
  });
  found = session.peers().share(found)[0];
  std::unique_ptr<StoredModel> model;
  session.on_every_rank([&] { model = open_model(catalogue, found); });
  return model;
}

void read_pieces(const StoredModel& model, std::string_view parameter, int64_t begin, int64_t end,
                 const std::function<void(int64_t first, std::span<const float>)>& visit) {
  std::vector<float> piece;
  for (int64_t first = begin; first < end; first += int64_t(piece.size())) {
    piece.resize(size_t(std::min(kPieceNumel, end - first)));
    model.read(parameter, first, piece);
    visit(first, piece);
  }
}

void load_weights(const StoredModel& model, const state::StateView& view) {
  // A rank that holds a shard of the weights holds no more of what completes them.
  load(model, view, [](const plan::Unit& unit) { return unit.weight_sharded; });
}

void begin_with_weights(const StoredModel& model, const state::StateView& view) {
  load(model, view, [](const plan::Unit& unit) { return unit.optimizer_sharded; });
  state::fill_initial_states(view);
}

void require_same_model(const StoredModel& model, const model::Architecture& wanted) {
  const std::string there = model::words(model.description().model), here = model::words(wanted);
  if (there == here) return;
  refuse(Exit::kInput, model.path(), ": holds a model of ", there, "; the settings say ", here);
}

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
