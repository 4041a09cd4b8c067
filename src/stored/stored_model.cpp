#include "zero/stored/stored_model.hpp"

#include <algorithm>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/comm/communicator.hpp"
#include "zero/config/generation_keys.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/toml.hpp"
#include "zero/model/objective.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/save/missing_checkpoint.hpp"
#include "zero/state/state_view.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {
namespace {

constexpr int64_t kPieceNumel = 1 << 20;

/// Fills the wanted parameters' part of each unit in `view`: that of range_of(unit, rank).
void load(const StoredModel& model, const state::StateView& view, const auto& range_of,
          const auto& is_wanted) {
  const graph::Graph& graph = view.plan->graphs[0];
  for (const plan::Unit& unit : view.plan->units) {
    const state::UnitRange held = range_of(unit, view.rank);
    for (const plan::UnitParameter& place : unit.parameters) {
      const graph::Parameter& parameter = graph.parameters[size_t(place.parameter)];
      if (!is_wanted(parameter)) continue;
      const int64_t begin = std::max<int64_t>(0, held.begin - place.begin);
      const int64_t end = std::min(parameter.real_numel, held.end - place.begin);
      read_pieces(model, graph[parameter.tensor].name, begin, end,
                  [&](int64_t first, std::span<const float> piece) {
                    state::write_master(view, unit, place.begin + first, piece);
                  });
    }
  }
}

/// Returns the string of a key on the command line, or "".
std::string override_of(std::span<const std::string> overrides, const std::string& key) {
  for (const std::string& setting : overrides) {
    if (!setting.starts_with(key + "=")) continue;
    const std::string value = setting.substr(key.size() + 1);
    TomlValue parsed;
    std::string problem;
    if (!parse_toml_value(value, parsed, problem)) return value;
    const std::string* word = std::get_if<std::string>(&parsed);
    return word ? *word : value;
  }
  return "";
}

/// Returns an input file for a model without a run. Names validation data twice if training data,
/// which an input file must name, are missing.
std::string composed_input(const ModelDescription& description,
                           std::span<const std::string> overrides) {
  const auto& [family, numbers] = description.model;
  std::string input =
      text("train_micro_batch_size_per_gpu = 1\n[run]\nsteps = 1\n[model]\nfamily = ",
           to_text(TomlValue(std::string(family->settings.name))), "\n");
  for (const ModelCount& count : family->settings.counts) {
    input += text(count.name, " = ", written_as(count, numbers.count(count.name)), "\n");
  }
  for (const ModelRate& rate : family->settings.rates)
    input += text(rate.name, " = ",
                  to_text(TomlValue(rate.network ? numbers.rate(rate.name) : 0.0)), "\n");
  input += "[data]\n";
  if (override_of(overrides, "data.sequence_length").empty()) {
    input += text("sequence_length = ", description.sequence_length, "\n");
  }
  const std::string given = override_of(overrides, "data.train");
  const std::string only = override_of(overrides, "data.validation");
  const std::string train = !given.empty() ? given : only.empty() ? "synthetic" : only;
  if (given.empty()) input += "train = " + to_text(TomlValue(train)) + "\n";
  const bool is_named = !override_of(overrides, "data.tokenizer").empty();
  const bool scores = !override_of(overrides, "evaluation.choices").empty() ||
                      !override_of(overrides, "evaluation.documents").empty();
  const bool reads = (train != "synthetic" || scores) && !description.tokenizer.empty();
  if (reads && !is_named) {
    input += "tokenizer = " + to_text(TomlValue(description.tokenizer)) + "\n";
  }
  if (description.compute == Dtype::bf16) input += "[bf16]\nenabled = true\n";
  if (description.compute == Dtype::f16) input += "[fp16]\nenabled = true\n";
  return input;
}

/// True if the run's tokenizer is gone while the model has its own.
bool is_tokenizer_gone(const std::string& settings, const ModelDescription& description) {
  if (description.tokenizer.empty() || description.tokenizer == "bytes") return false;
  for (const TomlEntry& entry : parse_toml(settings).entries) {
    const std::string* name = std::get_if<std::string>(&entry.value);
    if (entry.key == "data.tokenizer" && name) return *name != "bytes" && !is_there(*name);
  }
  return false;
}

/// Adds settings to overrides. A validation file replaces the run's held-out fraction. The
/// communication type follows a compute type, which the run's may not fit.
std::vector<std::string> for_this_evaluation(std::span<const std::string> overrides) {
  std::vector<std::string> settings(overrides.begin(), overrides.end());
  const bool file = !override_of(overrides, "data.validation").empty();
  const bool fraction = !override_of(overrides, "data.validation_fraction").empty();
  if (file && !fraction) settings.push_back("data.validation_fraction=0");
  if (override_of(overrides, "communication_data_type").empty()) {
    settings.push_back("communication_data_type=auto");
  }
  return settings;
}

/// Drops settings of steps, which must neither cost memory nor forbid a rank count.
void drop_training(RunConfig& config, int64_t evaluation_micro) {
  if (config.evaluation.micro_batch_size == 0) {
    const int64_t known =
        evaluation_micro ? evaluation_micro : config.train_micro_batch_size_per_gpu;
    config.evaluation.micro_batch_size = std::max<int64_t>(1, known);
  }
  config.train_batch_size = 0;
  config.train_micro_batch_size_per_gpu = 1;
  config.gradient_accumulation_steps = 1;
  config.communication_data_type = CommunicationDtype::automatic;
  for (int64_t* bucket : {&config.zero.reduce_bucket_size, &config.zero.allgather_bucket_size}) {
    *bucket = std::max<int64_t>(*bucket, comm::kMostRanks);
  }
  config.numerics = {.reproducible = config.numerics.reproducible};
  config.recompute = {};
  config.offload_activations = {};
  config.offload_optimizer = {};
  config.run.steps = 1;
  config.run.epochs = 0;
}

}  // namespace

std::string find_model(const model::Catalogue& catalogue, const std::string& folder) {
  for (const std::string& place : {folder, folder + "/model"}) {
    if (is_there(place + "/config.json")) return place;
  }
  if (!is_there(folder)) refuse(Exit::kInput, save::no_folder_text(folder));
  if (save::holds_checkpoints(folder)) return save::StoredCheckpoint(folder).folder();
  refuse(Exit::kInput, folder, ": holds no trained model: neither config.json nor model/ nor ",
         "checkpoints - name a run, train with export.at_end=true, or name a folder with a ",
         catalogue.titles(), "'s config.json and model.safetensors or pytorch_model.bin");
}

std::unique_ptr<StoredModel> open_model(const model::Catalogue& catalogue, const std::string& found,
                                        const RunConfig* training) {
  if (is_there(found + "/config.json"))
    return std::make_unique<ModelFolder>(catalogue, found, training);
  return std::make_unique<CheckpointModel>(catalogue, found, training);
}

std::unique_ptr<StoredModel> open_model(launch::Session& session, const model::Catalogue& catalogue,
                                        const std::string& folder, const RunConfig* training) {
  std::string found;
  // Rank 0 alone chooses, because a live run may save meanwhile.
  session.on_every_rank([&] {
    if (session.is_first()) found = find_model(catalogue, folder);
  });
  found = session.peers().share(found)[0];
  std::unique_ptr<StoredModel> model;
  session.on_every_rank([&] { model = open_model(catalogue, found, training); });
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

void load_weights(const StoredModel& model, const graph::Graph& graph,
                  const std::function<void(int32_t, int64_t, std::span<const float>)>& set) {
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const graph::Parameter& parameter = graph.parameters[p];
    read_pieces(
        model, graph[parameter.tensor].name, 0, parameter.real_numel,
        [&](int64_t first, std::span<const float> piece) { set(int32_t(p), first, piece); });
  }
}

void load_weights(const StoredModel& model, const state::StateView& view) {
  // A rank with a shard of the weights has only a shard of the low parts.
  load(model, view, state::weight_range, [](const graph::Parameter&) { return true; });
}

void begin_with_weights(const StoredModel& model, const state::StateView& view) {
  load(model, view, state::filled_range, [&](const graph::Parameter& parameter) {
    const std::string& name = view.plan->graphs[0][parameter.tensor].name;
    return model.holds(name) && !model.is_anew(name);
  });
  state::fill_initial_states(view);
}

void load_lent_weights(const StoredModel& model, const state::StateView& view) {
  load(model, view, state::filled_range,
       [](const graph::Parameter& parameter) { return parameter.borrowed; });
}

void require_same_model(const StoredModel& model, const model::Architecture& wanted) {
  const std::string there = model::words({model.description().model}),
                    here = model::words({wanted});
  if (there == here) return;
  refuse(Exit::kInput, model.path(), ": holds a model of ", there, "; the settings say ", here);
}

bool may_stand_for(const std::vector<std::string>& classes, const std::vector<std::string>& there,
                   bool are_written) {
  const bool is_other_order = in_known_order(classes, there) == there;
  return there.empty() || classes == there || (are_written && !is_other_order);
}

namespace {

/// The parameters of a model's head of classes.
struct ClassHead {
  std::string_view begin = "";                     ///< begins their names
  std::vector<std::string> drawn = {}, kept = {};  ///< by a training
};
ClassHead class_head_of(const StoredModel& model) {
  const ModelDescription& description = model.description();
  const std::string_view weight = description.model.family->class_weight;
  ClassHead head{.begin = weight.substr(0, weight.rfind('.') + 1)};
  if (head.begin.empty()) return head;
  for (const StoredParameter& parameter : stored_parameters(description.recipe())) {
    if (!parameter.name.starts_with(head.begin)) continue;
    (model.is_anew(parameter.name) ? head.drawn : head.kept).push_back(parameter.name);
  }
  return head;
}

}  // namespace

void require_same_classes(const StoredModel& model, const std::vector<std::string>& classes,
                          bool are_written) {
  const ModelDescription& description = model.description();
  const std::vector<std::string>& there = description.classes;
  if (classes.empty() || may_stand_for(classes, there, are_written)) return;
  const ClassHead head = class_head_of(model);
  if (head.kept.empty()) return;
  const auto list = [](const std::vector<std::string>& names) {
    return to_text(TomlArray(names.begin(), names.end()));
  };
  refuse(
      Exit::kInput, "model.init_from: ", model.path(), ": its classes are ", list(there),
      ", and those of the data ", list(classes),
      head.drawn.empty() ? "" : text(", but model.reinit keeps ", head.kept[0], " of their head"),
      "; write data.labels, the words of data.train in the order of the model's, or ",
      "model.reinit = [\"", head.begin, "*\"]");
}

void require_tokenizer(const StoredModel& model, const DataSource& data) {
  constexpr int64_t kBytes = 256, kFewMore = 64;  // ids of bytes, and of special tokens beside them
  const ModelDescription& description = model.description();
  const int64_t vocabulary = model::data_form(description.model).vocabulary;
  if (!description.tokenizer.empty() || data.vocab_size() > kBytes) return;
  if (vocabulary <= kBytes + kFewMore) return;
  refuse(Exit::kInput, model.path(), ": holds no tokenizer, and its vocabulary of ", vocabulary,
         " is not that of bytes; put the files of its tokenizer there, spm.model, spiece.model, "
         "tokenizer.json, or vocab.json and merges.txt, or write data.tokenizer, a folder with ",
         "them, or \"bytes\"");
}

RunConfig evaluation_config(const ModelTable& models, const StoredModel& model,
                            std::span<const std::string> overrides) {
  const ModelDescription& description = model.description();
  StoredModel::Settings settings = model.settings();
  if (settings.text.empty()) {
    settings.name = model.path() + "/config.json";
    settings.text = composed_input(description, overrides);
  }
  std::vector<std::string> own = for_this_evaluation(overrides);
  const bool names_one = !override_of(overrides, "data.tokenizer").empty();
  if (!names_one && is_tokenizer_gone(settings.text, description)) {
    own.push_back("data.tokenizer=" + to_text(TomlValue(description.tokenizer)));
  }
  RunConfig config = read_config(models, settings.text, settings.name, own, Writer::run).config;
  for (const auto& [name, usual] : description.model.family->constants)
    config.model.numbers.rates[name] = description.model.numbers.rate(name);
  config.model.numbers.lists = description.model.numbers.lists;
  const bool validates = !config.data.validation.empty() || config.data.validation_fraction > 0;
  if (!validates && !config.evaluation.scores_texts())
    refuse(Exit::kUsage, "no validation data: write data.validation=FILE");
  config.model.start = {.labels = description.classes, .are_final = true};
  // The classes are the model's, so nothing else of a training file that is gone is asked for.
  DataConfig& data = config.data;
  const bool is_gone = data.train != "synthetic" && !is_there(data.train);
  if (is_gone && !data.validation.empty() &&
      model::objective_for(config).measures(MetricSource::scores))
    data.train = data.validation;
  require_same_model(model, model::architecture_of(config));
  require_generation(config.generation, settings.generation);
  config.generation = completed(config.generation, settings.generation);
  drop_training(config, description.evaluation_micro);
  return config;
}

}  // namespace zero::stored
