#include "zero/model/family.hpp"

#include <algorithm>
#include <utility>

#include "src/model/unbuilt_types.hpp"
#include "zero/base/error.hpp"
#include "zero/model/objective.hpp"

namespace zero::model {
namespace {

const Family& row(const Architecture& model) {
  ZERO_REQUIRE(model.family, "a model of no family");
  return *model.family;
}

std::string joined(const Catalogue& catalogue, std::string_view Family::*member,
                   const char* quote) {
  std::string all;
  for (const Family* family : catalogue.families) {
    const char* between = family == catalogue.families.back() ? " or " : ", ";
    all += text(all.empty() ? "" : between, quote, family->*member, quote);
  }
  return all;
}

/// Returns the settings of an objective with the keys of its data.
ObjectiveSettings settings_of(const Objective& objective) {
  ObjectiveSettings settings = objective.settings;
  settings.functions = &objective;
  for (const std::string_view key : objective.data->keys) settings.keys.push_back({.name = key});
  return settings;
}

/// Refuses settings that Transformers reads for every family and no family here builds.
void require_plain_weights(const HubConfig& config) {
  for (const char* key : {"quantization_config", "compression_config"}) {
    config.require_none(key,
                        "its weights are quantized, and only float32, bfloat16 and float16 are "
                        "read; take the model before it was quantized, or write it anew with "
                        "Transformers' model.dequantize() and save_pretrained()");
  }
  config.require_none("pruned_heads",
                      "heads of its attention are gone, and only models with all of them are "
                      "built; take the model before its heads were pruned");
  config.require("tie_encoder_decoder", false);
}

}  // namespace

Catalogue::Catalogue(std::vector<const Family*> rows,
                     const std::vector<const Objective*>& objectives,
                     const std::vector<const AlterationKind*>& alterations)
    : families(std::move(rows)) {
  for (const Family* family : families) {
    ModelFamily& settings = models.emplace_back(family->settings);
    settings.functions = family;
    settings.alterations = alterations;
    for (const Objective* one : objectives) {
      if (one->fits && one->fits(*family)) settings.objectives.push_back(settings_of(*one));
    }
    for (const std::string_view name : family->objectives) {
      const auto found = std::ranges::find(objectives, name,
                                           [](const Objective* one) { return one->settings.name; });
      ZERO_REQUIRE(found != objectives.end(), family->title, " learns ", name,
                   ", an objective which is not there");
      settings.objectives.push_back(settings_of(**found));
    }
  }
}

std::string Catalogue::titles() const { return joined(*this, &Family::title, ""); }

StoredForm stored_form(const Architecture& model, std::string_view parameter) {
  const auto form = row(model).stored.form;
  return form ? form(model, parameter) : StoredForm{.names = {std::string(parameter)}};
}

std::string StoredNames::written(std::string_view name) const {
  const bool is_plain = std::ranges::any_of(
      unprefixed, [&](std::string_view begin) { return name.starts_with(begin); });
  return text(is_plain ? "" : prefix, name);
}

DataForm data_form(const Architecture& model) { return row(model).data_form(model); }

Architecture architecture_of(const RunConfig& config) {
  const Family* family = family_of(config.model).functions;
  ZERO_REQUIRE(family, "a table of models without functions");
  Architecture model{.family = family, .numbers = model_numbers(config)};
  const ModelSize* size = find_model_size(config.model.table, config.model.name);
  for (const auto& [name, usual] : family->constants) {
    const auto said = config.model.numbers.rates.find(name);
    const bool is_said = said != config.model.numbers.rates.end();
    const bool is_sized = size && size->rates.contains(name);
    model.numbers.rates[name] = is_said ? said->second : is_sized ? size->rates.at(name) : usual;
  }
  for (auto& [name, rate] : model.numbers.rates) rate = float(rate);
  if (family->complete) family->complete(model);
  return model;
}

Architecture architecture_in(const Catalogue& catalogue, HubConfig& config) {
  config.compare_with("model that is built here");
  const std::string usual(catalogue.families.front()->hub_type);
  const std::string type = config.word_or("model_type", usual);
  for (const Family* family : catalogue.families) {
    if (family->hub_type != type) continue;
    config.compare_with(family->hub_class);
    require_plain_weights(config);
    return {.family = family, .numbers = family->from_hub(config)};
  }
  const std::string only = "only " + joined(catalogue, &Family::hub_type, "\"");
  const std::string_view lack = lack_for(type);
  config.fail("model_type", lack.empty() ? only : text(lack, ", which is not built; ", only));
}

std::string mixed_dropout(const Family& family, const HubConfig& config) {
  std::string rates;
  bool is_mixed = false;
  if (family.dropouts.empty()) return rates;
  const auto rate_of = [&](const HubDropout& place, double usual) {
    return config.share_or(std::string(place.key), usual);
  };
  const float first = rate_of(family.dropouts.front(), family.dropouts.front().usual);
  for (const HubDropout& place : family.dropouts) {
    const float rate = rate_of(place, place.follows ? double(first) : place.usual);
    const float wanted = place.acts ? first : 0;
    is_mixed |= rate != wanted;
    rates += text(rates.empty() ? "" : ", ", place.key, ' ', rate);
  }
  return is_mixed ? rates : "";
}

}  // namespace zero::model
