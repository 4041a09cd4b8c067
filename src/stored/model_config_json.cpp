#include "src/stored/model_config_json.hpp"

namespace zero::stored {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the entries that the model's family writes.
Json entries_of(const model::Architecture& model, const char* dtype) {
  Json json;
  for (const model::HubEntry& entry : model.family->to_hub(model, dtype))
    json[entry.key] = Json::parse(entry.json);
  return json;
}

/// Returns the origin's entries with those of the model that differ from it, and those that every
/// file gets.
Json merged(const ModelDescription& description, const char* dtype) {
  const model::Architecture& model = description.model;
  const Json before = entries_of(description.origin.model, dtype);
  Json json = Json::parse(description.origin.text);
  json.erase(kOwnKey);
  for (const model::HubEntry& entry : model.family->to_hub(model, dtype)) {
    const Json now = Json::parse(entry.json);
    const bool is_missing = entry.always && !json.contains(entry.key);
    if (is_missing || now != before.at(entry.key)) json[entry.key] = now;
  }
  for (const char* key : {"torch_dtype", "dtype"}) json[key] = dtype;
  return json;
}

}  // namespace

nlohmann::ordered_json config_json(const ModelDescription& description, const char* dtype) {
  if (description.origin.text.empty()) return entries_of(description.model, dtype);
  return merged(description, dtype);
}

ModelDescription::Origin origin_of(const model::Catalogue& catalogue, const std::string& text) {
  if (text.empty()) return {};
  model::HubConfig settings(text, "the config.json of the first weights");
  const model::Architecture model = model::architecture_in(catalogue, settings);
  if (!model.family->keeps_config) return {};
  return {.text = text, .model = model};
}

}  // namespace zero::stored
