#include <algorithm>
#include <string_view>

#include "src/config/key_contradictions.hpp"
#include "zero/base/text.hpp"
#include "zero/config/model_keys.hpp"
#include "zero/config/objective_keys.hpp"

namespace zero {

namespace {

/// Returns the name of a model that learns from no list of files; "" if there is none.
std::string_view model_without_lists(const ModelTable& table) {
  for (const ModelFamily& family : table) {
    if (std::ranges::none_of(family.objectives, &ObjectiveSettings::takes_lists))
      return family.sizes.empty() ? "" : family.sizes.front().name;
  }
  return "";
}

}  // namespace

std::vector<Rule> data_rules(const ModelConfig& model) {
  const auto unread_list = [](const RunConfig& c) -> std::string {
    const ObjectiveSettings* objective = objective_of(c);
    if (c.data.train_parts.empty() || !objective || objective->takes_lists) return "";
    return "a list of files is read for models that learn from documents; write one file";
  };
  return {{.keys = {"data.train", "model.family", "model.name"},
           .broken = unread_list,
           .example = {
               text("model.name = \"", model.table ? model_without_lists(*model.table) : "", '"'),
               "data.train = [\"a.jsonl\", \"b.jsonl\"]"}}};
}

}  // namespace zero
