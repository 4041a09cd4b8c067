#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "src/stored/model_config_json.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/config/generation_keys.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/interop/json.hpp"
#include "zero/io/text/tokenizer.hpp"
#include "zero/launch/launch.hpp"
#include "zero/model/objective.hpp"
#include "zero/model/unmet_keys.hpp"
#include "zero/stored/stored_model.hpp"

namespace zero::stored {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kConfigBytesMax = int64_t(4) << 20;
constexpr int64_t kDefaultSequence = 1024;

struct TorchName {
  Dtype dtype;
  const char* name;
};
constexpr TorchName kTorchNames[] = {
    {Dtype::f32, "float32"}, {Dtype::bf16, "bfloat16"}, {Dtype::f16, "float16"}};

Dtype dtype_of_torch(const std::string& name) {
  for (const TorchName& known : kTorchNames) {
    if (known.name == name) return known.dtype;
  }
  return Dtype::f32;
}

/// Keys that affect no text: a file's origin and options of programs.
const std::set<std::string, std::less<>> kPassedOver = {
    "_from_model_config",   "transformers_version", "use_cache",     "bos_token_id",
    "output_hidden_states", "output_attentions",    "output_scores", "return_dict_in_generate"};

struct ReadValue {
  TomlValue value;
  bool is_null = false;
};

/// The values by their keys. A nested value is only marked as present.
class Values : public JsonSink {
 public:
  void open(Path path, bool is_array) override {
    if (path.size() != 1) return;
    ReadValue& read = values_[path[0]];
    read.value = is_array ? TomlValue(TomlArray()) : TomlValue("an object");
  }
  void value(Path path, const JsonScalar& value) override {
    if (path.size() != 1) return;
    ReadValue& read = values_[path[0]];
    if (std::holds_alternative<std::nullptr_t>(value)) {
      read.is_null = true;
      return;
    }
    const TomlScalar scalar = std::visit(ToScalar(), value);
    if (auto* list = std::get_if<TomlArray>(&read.value)) {
      list->push_back(scalar);
    } else {
      read.value = std::visit([](const auto& one) { return TomlValue(one); }, scalar);
    }
  }
  const std::map<std::string, ReadValue>& all() const { return values_; }

 private:
  struct ToScalar {
    TomlScalar operator()(std::nullptr_t) const { return ""; }
    TomlScalar operator()(const auto& value) const { return value; }
  };

  std::map<std::string, ReadValue> values_;
};

/// Returns the family's id under Hugging Face's name; -1 for other names or undefined ids.
int64_t id_of_family(const model::DataForm& form, std::string_view name) {
  if (name == "pad_token_id") return form.ids.pad;
  return name == "decoder_start_token_id" ? form.ids.start : -1;
}

bool is_id_of_family(std::string_view name) {
  return name == "pad_token_id" || name == "decoder_start_token_id";
}

void require_id(const model::Architecture& model, const std::string& name, const std::string& key,
                const TomlValue& value) {
  const int64_t wanted = id_of_family(model::data_form(model), key);
  if (wanted < 0 || value == TomlValue(wanted)) return;
  refuse(Exit::kInput, name, ": ", key, ": is ", to_text(value), ", but a ", model.family->title,
         " has ", wanted, " there; write ", wanted);
}

/// Warns on one rank, because all read the same file.
template <class... Parts>
void warn_once(const Parts&... parts) {
  if (launch::current_launch().task <= 0) warn(parts...);
}

/// Drops ids beyond the model's vocabulary. Forced ids stay, and are refused when texts are asked
/// for.
void drop_foreign_ids(const model::Architecture& model, const std::string& name,
                      GenerationConfig& config) {
  const int64_t vocabulary = model::data_form(model).vocabulary;
  for (const auto& [key, ids] : {std::pair("eos_token_id", &config.eos_token_id),
                                 {"suppress_tokens", &config.suppress_tokens},
                                 {"begin_suppress_tokens", &config.begin_suppress_tokens}}) {
    if (!*ids) continue;
    const auto foreign =
        std::ranges::stable_partition(**ids, [&](int64_t id) { return id < vocabulary; });
    if (foreign.empty()) continue;
    warn_once(name, ": ", key, ": ", foreign.front(),
              foreign.size() > 1 ? text(" and ", foreign.size() - 1, " more") : "",
              ": beyond the model's vocabulary of ", vocabulary,
              "; no text holds it, or ends there");
    (*ids)->erase(foreign.begin(), foreign.end());
    if ((*ids)->empty()) ids->reset();
  }
}

/// The keys and values of a file, as for [generation].
using Settings = std::map<std::string, ReadValue>;

Settings settings_in(std::string_view content, const std::string& name) {
  Values values;
  read_json(content, name, {.depth = 8, .keys = 20'000}, values);
  return values.all();
}

GenerationConfig generation_of(const model::Architecture& model, const Settings& settings,
                               const std::string& name) {
  GenerationConfig config;
  std::string unmet;
  for (const auto& [key, read] : settings) {
    if (read.is_null || model::asks_for_nothing(key, read.value)) continue;
    const std::optional<std::string> wrong = assign_generation(config, key, read.value);
    if (!wrong) unmet += (unmet.empty() ? "" : ", ") + shown(key);
    if (wrong && !wrong->empty())
      warn_once(name, ": ", shown(key), ": ", *wrong, "; it is passed over");
  }
  // max_new_tokens comes first, as in Transformers, which warns.
  if (config.max_new_tokens) config.max_length.reset();
  drop_foreign_ids(model, name, config);
  if (!unmet.empty()) {
    warn_once(name, ": nothing here goes by ", unmet, "; texts are generated without ",
              unmet.find(',') == unmet.npos ? "it" : "them");
  }
  return config;
}

/// Returns a config.json's settings for texts. REQUIRES: ids of the family are checked.
GenerationConfig generation_in_config(const model::Architecture& model, std::string_view content,
                                      const std::string& name) {
  Settings settings = settings_in(content, name);
  std::erase_if(settings, [any = GenerationConfig()](const auto& one) mutable {
    return !model::is_unmet_key(one.first) && !assign_generation(any, one.first, one.second.value);
  });
  return generation_of(model, settings, name);
}

Json json_of(const TomlValue& value) {
  if (const auto* list = std::get_if<TomlArray>(&value)) {
    Json json = Json::array();
    for (const TomlScalar& item : *list) {
      std::visit([&](const auto& one) { json.push_back(one); }, item);
    }
    // A single id stands without a list, as Hugging Face writes it.
    return json.size() == 1 ? json[0] : json;
  }
  Json json;
  std::visit(
      [&](const auto& one) {
        if constexpr (std::is_constructible_v<TomlScalar, decltype(one)>) json = one;
      },
      value);
  return json;
}

/// Returns the objective whose head a config.json names; null for the family's own.
const model::Objective* objective_in(const model::Catalogue& catalogue,
                                     const model::Architecture& model,
                                     const model::HubConfig& settings) {
  const std::string name = settings.word_or("zeroapp.objective", "");
  if (name.empty()) return nullptr;
  for (const ModelFamily& family : catalogue.models) {
    const ObjectiveSettings* objective = family.objective(name);
    if (family.functions == model.family && objective) return objective->functions;
  }
  settings.fail("zeroapp.objective",
                text("only an objective that a ", model.family->title, " learns here"));
}

/// Returns the names of labels, without those that only number them. Other models may have names of
/// a task that they do not learn here.
std::vector<std::string> classes_in(const model::Architecture& model,
                                    const model::Objective* objective,
                                    const model::HubConfig& settings) {
  const bool labels = model.numbers.counts.contains(kLabelCount) ||
                      (objective && objective->measures(MetricSource::scores));
  if (!labels) return {};
  const std::vector<std::string> names = settings.numbered_words("id2label");
  bool is_named = false;
  for (size_t i = 0; i < names.size(); ++i) is_named |= names[i] != text("LABEL_", i);
  if (!is_named || names.size() == 1) return {};  // a single label is a number
  return names;
}

/// Replaces the names of labels, which the family may have numbered.
void set_classes(const std::vector<std::string>& classes, Json& json) {
  Json names = Json::object(), numbers = Json::object();
  for (size_t i = 0; i < classes.size(); ++i) {
    names[text(i)] = classes[i];
    numbers[classes[i]] = i;
  }
  json["id2label"] = names;
  json["label2id"] = numbers;
}

}  // namespace

ModelDescription parse_description(const model::Catalogue& catalogue, std::string_view content,
                                   const std::string& name) {
  model::HubConfig settings(content, name);
  const model::Architecture model = model::architecture_in(catalogue, settings);
  const int64_t positions = model::data_form(model).positions;
  const model::Objective* objective = objective_in(catalogue, model, settings);
  const std::string dtype = settings.word_or("dtype", settings.word_or("torch_dtype", "float32"));
  const bool bytes = settings.word_or("zeroapp.tokenizer", "") == "bytes";
  return {
      .model = model,
      .objective = objective,
      .mixed_dropout = model::mixed_dropout(*model.family, settings),
      .classes = classes_in(model, objective, settings),
      .compute = dtype_of_torch(dtype),
      .tokenizer = bytes ? "bytes" : "",
      .sequence_length = settings.count_or("zeroapp.sequence_length", positions,
                                           std::min(positions, kDefaultSequence)),
      .evaluation_micro = settings.count_or("zeroapp.evaluation_micro_batch_size", 1'000'000, 0),
      .origin = model.family->keeps_config ? ModelDescription::Origin{std::string(content), model}
                                           : ModelDescription::Origin()};
}

ModelDescription read_description(const model::Catalogue& catalogue, const std::string& folder) {
  const std::string path = folder + "/config.json";
  const std::string config = read_whole(path, kConfigBytesMax);
  ModelDescription description = parse_description(catalogue, config, path);
  if (description.tokenizer.empty() && holds_tokenizer(folder)) description.tokenizer = folder;
  const std::string generation = folder + "/generation_config.json";
  if (is_there(generation)) {
    description.generation_text = read_whole(generation, kConfigBytesMax);
    description.generation =
        parse_generation(description.model, description.generation_text, generation);
  } else {
    description.generation = generation_in_config(description.model, config, path);
  }
  return description;
}

std::string description_json(const ModelDescription& description) {
  const auto* torch =
      std::find_if(std::begin(kTorchNames), std::end(kTorchNames),
                   [&](const TorchName& known) { return known.dtype == description.compute; });
  Json json = config_json(description, torch->name);
  if (!description.classes.empty()) set_classes(description.classes, json);
  Json ours = {{"sequence_length", description.sequence_length}};
  if (description.tokenizer == "bytes") ours["tokenizer"] = "bytes";
  if (description.objective) ours["objective"] = description.objective->settings.name;
  if (description.evaluation_micro > 0) {
    ours["evaluation_micro_batch_size"] = description.evaluation_micro;
  }
  json[kOwnKey] = ours;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string adapter_json(const ModelDescription& description) {
  const Json json = {{"base_model_name_or_path", description.lender},
                     {"zeroapp", {{"architecture", model::fact(description.recipe())}}}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string generation_json(const ModelDescription& description) {
  if (!description.model.family->decode) return "";
  if (!description.generation_text.empty()) return description.generation_text;
  const model::DataForm form = model::data_form(description.model);
  Json json = Json::object();
  for (const auto& [key, id] : {std::pair("decoder_start_token_id", form.ids.start),
                                {"pad_token_id", form.ids.pad},
                                {"eos_token_id", form.ids.end}}) {
    if (id >= 0) json[key] = id;
  }
  for (const auto& [key, value] : generation_values(description.generation)) {
    json[key] = json_of(value);
  }
  return json.empty() ? "" : json.dump(2) + "\n";
}

GenerationConfig parse_generation(const model::Architecture& model, std::string_view content,
                                  const std::string& name) {
  if (content.empty()) return {};
  Settings settings = settings_in(content, name);
  std::erase_if(settings, [&](const auto& one) {
    const auto& [key, read] = one;
    if (is_id_of_family(key) && !read.is_null) require_id(model, name, key, read.value);
    return kPassedOver.contains(key) || is_id_of_family(key);
  });
  return generation_of(model, settings, name);
}

}  // namespace zero::stored
