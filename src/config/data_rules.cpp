#include "src/config/key_contradictions.hpp"
#include "zero/config/objective_keys.hpp"

namespace zero {

std::vector<Rule> data_rules() {
  const auto unread_list = [](const RunConfig& c) -> std::string {
    const ObjectiveSettings* objective = objective_of(c);
    if (c.data.train_parts.empty() || !objective || objective->takes_lists) return "";
    return "a list of files is read for models that learn from documents; write one file";
  };
  return {{.keys = {"data.train", "model.family", "model.name"},
           .broken = unread_list,
           .example = {"model.name = \"t5-small\"", "data.train = [\"a.jsonl\", \"b.jsonl\"]"}}};
}

}  // namespace zero
