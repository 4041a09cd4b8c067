#include <algorithm>
#include <vector>

#include "zero/base/path.hpp"
#include "zero/comm/communicator.hpp"
#include "zero/config/generation.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/toml.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::models {
namespace {

/// The string that the command line gives a key; "" if it does not.
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

/// An input file for a model without a run. Training data must be named in any; where only
/// validation data are, they are named twice.
std::string composed_input(const ModelDescription& description,
                           std::span<const std::string> overrides) {
  const auto& [family, numbers] = description.model;
  std::string input =
      text("train_micro_batch_size_per_gpu = 1\n[run]\nsteps = 1\n[model]\nfamily = ",
           to_text(TomlValue(std::string(family->settings.name))), "\n");
  for (const ModelCount& count : family->settings.counts) {
    input += text(count.name, " = ", written_as(count, numbers.count(count.name)), "\n");
  }
  for (const ModelRate& rate : family->settings.rates) input += text(rate.name, " = 0.0\n");
  input += "[data]\n";
  if (override_of(overrides, "data.sequence_length").empty()) {
    input += text("sequence_length = ", description.sequence_length, "\n");
  }
  const std::string given = override_of(overrides, "data.train");
  const std::string only = override_of(overrides, "data.validation");
  const std::string train = !given.empty() ? given : only.empty() ? "synthetic" : only;
  if (given.empty()) input += "train = " + to_text(TomlValue(train)) + "\n";
  const bool is_named = !override_of(overrides, "data.tokenizer").empty();
  if (family->settings.learns_pairs && description.tokenizer.empty() && !is_named) {
    refuse(
        Exit::kUsage, "no tokenizer lies beside the model; copy the spiece.model, or vocab.json ",
        "and merges.txt, that it was trained with to its folder, or write data.tokenizer=FOLDER");
  }
  const bool reads = train != "synthetic" && !description.tokenizer.empty();
  if (reads && !is_named) {
    input += "tokenizer = " + to_text(TomlValue(description.tokenizer)) + "\n";
  }
  if (description.compute == Dtype::bf16) input += "[bf16]\nenabled = true\n";
  if (description.compute == Dtype::f16) input += "[fp16]\nenabled = true\n";
  return input;
}

/// A run's tokenizer may be gone where its files lie beside the model that it left.
bool is_tokenizer_gone(const std::string& settings, const ModelDescription& description) {
  if (description.tokenizer.empty() || description.tokenizer == "bytes") return false;
  for (const TomlEntry& entry : parse_toml(settings).entries) {
    const std::string* name = std::get_if<std::string>(&entry.value);
    if (entry.key == "data.tokenizer" && name) return *name != "bytes" && !is_there(*name);
  }
  return false;
}

/// A file named for this evaluation takes the place of what the run held out, and a compute type
/// may be named that the run's gradients could not travel in.
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

/// No step is taken: what belongs to steps alone must not cost memory, nor forbid a rank count.
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
  config.numerics = {};
  config.recompute = {};
  config.offload_activations = {};
  config.offload_optimizer = {};
  config.run.steps = 1;
  config.run.epochs = 0;
}

}  // namespace

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
  if (config.data.validation.empty() && config.data.validation_fraction == 0) {
    refuse(Exit::kUsage, "no validation data: write data.validation=FILE");
  }
  require_same_model(model, model::architecture_of(config));
  require_generation(config.generation, settings.generation);
  config.generation = completed(config.generation, settings.generation);
  drop_training(config, description.evaluation_micro);
  return config;
}

}  // namespace zero::models
