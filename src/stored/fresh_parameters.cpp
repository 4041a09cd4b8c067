#include "src/stored/fresh_parameters.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/toml.hpp"
#include "zero/model/objective.hpp"
#include "zero/model/parameter_patterns.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {
namespace {

constexpr const char* kKey = "model.reinit";
constexpr size_t kShownPatterns = 5;

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Returns the name's shortest beginning, up to a dot, that only lacking parameters have, as a
/// pattern. Returns the name if there is none.
std::string pattern_of(const std::string& name, const std::vector<std::string>& parameters,
                       const std::vector<std::string>& lacking) {
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    const std::string begin = name.substr(0, dot + 1);
    const bool alone = std::ranges::all_of(parameters, [&](const std::string& other) {
      return !other.starts_with(begin) || holds(lacking, other);
    });
    if (alone) return begin + "*";
  }
  return name;
}

/// Returns the recipe of a training that takes its model's numbers from `model`.
model::Recipe recipe_of(const RunConfig& training, const model::Architecture& model) {
  RunConfig config = training;
  config.model.name.clear();
  config.model.family = model.family->settings.name;
  config.model.numbers = model.numbers;
  return model::recipe_of(config);
}

}  // namespace

const model::Objective* training_head(const RunConfig& training, const model::Architecture& model) {
  const model::Objective* objective = recipe_of(training, model).objective;
  return objective && objective->head ? objective : nullptr;
}

bool take_task(const RunConfig& training, ModelDescription& description) {
  bool differs = false;
  auto& [family, numbers] = description.model;
  for (const ModelCount& count : family->settings.counts) {
    const int64_t said = count.by_task ? said_by_task(training, count) : 0;
    if (said == 0 || said == numbers.count(count.name)) continue;
    numbers.counts.find(count.name)->second = said;
    description.classes.clear();
    differs = true;
  }
  return differs;
}

std::vector<std::string> fresh_parameters(const model::Architecture& model,
                                          const RunConfig* training) {
  std::vector<std::string> fresh;
  if (!training || training->model.reinit.empty()) return fresh;
  const graph::Graph graph = stored_graph(recipe_of(*training, model));
  const std::vector<bool> anew = model::matched(
      model, graph, {.key = kKey, .patterns = training->model.reinit, .whole = "drawn anew"});
  for (size_t p = 0; p < anew.size(); ++p) {
    const graph::Parameter& parameter = graph.parameters[p];
    const std::string& name = graph[parameter.tensor].name;
    if (!anew[p]) continue;
    if (parameter.borrowed) {
      refuse_settings({kKey}, name, " is read from model.init_from at each start and never saved; ",
                      "leave it out");
    }
    fresh.push_back(name);
  }
  return fresh;
}

std::string reinit_advice(const std::vector<std::string>& parameters,
                          const std::vector<std::string>& lacking) {
  std::vector<std::string> patterns;
  for (const std::string& name : lacking) {
    const std::string pattern = pattern_of(name, parameters, lacking);
    if (!holds(patterns, pattern)) patterns.push_back(pattern);
  }
  if (patterns.size() > kShownPatterns) return "name them in model.reinit to draw them anew";
  const TomlArray list(patterns.begin(), patterns.end());
  return text("write model.reinit = ", to_text(TomlValue(list)), " to draw ",
              lacking.size() == 1 ? "it" : "them", " anew");
}

}  // namespace zero::stored
