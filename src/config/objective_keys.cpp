#include "zero/config/objective_keys.hpp"

#include <algorithm>
#include <functional>

#include "zero/base/text.hpp"
#include "zero/config/model_keys.hpp"

namespace zero {
namespace {

/// Returns the row of a name, or null.
template <class Row>
const Row* named(const std::vector<Row>& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

void visit_objectives(const ModelTable* table,
                      const std::function<void(const ObjectiveSettings&)>& visit) {
  if (!table) return;
  for (const ModelFamily& family : *table) std::ranges::for_each(family.objectives, visit);
}

}  // namespace

const Metric* ObjectiveSettings::metric(std::string_view metric_name) const {
  return named(metrics, metric_name);
}

const OwnKey* ObjectiveSettings::key(std::string_view key_name) const {
  return named(keys, key_name);
}

const ObjectiveSettings* ModelFamily::objective(std::string_view objective_name) const {
  return named(objectives, objective_name);
}

const ObjectiveSettings* objective_of(const RunConfig& config) {
  if (!config.model.table || config.model.table->empty()) return nullptr;
  for (const ObjectiveSettings& objective : family_of(config.model).objectives) {
    if (!objective.acts || objective.acts(config)) return &objective;
  }
  return nullptr;
}

std::vector<std::string_view> metric_names(const ModelTable* table) {
  std::vector<std::string_view> names = {kLossMetric};
  visit_objectives(table, [&](const ObjectiveSettings& objective) {
    for (const Metric& metric : objective.metrics) {
      if (std::ranges::find(names, metric.name) == names.end()) names.push_back(metric.name);
    }
  });
  return names;
}

const ObjectiveSettings* objective_with(const ModelTable* table, std::string_view metric) {
  const ObjectiveSettings* found = nullptr;
  visit_objectives(table, [&](const ObjectiveSettings& objective) {
    if (!found && objective.metric(metric)) found = &objective;
  });
  return found;
}

std::string fault_of_labels(const RunConfig& config, const ObjectiveSettings& objective,
                            const Metric& metric) {
  const ModelNumbers numbers = model_numbers(config);
  const auto labels = numbers.counts.find(kLabelCount);
  if (labels == numbers.counts.end() || metric.measures(labels->second)) return "";
  std::string fitting;
  for (const Metric& one : objective.metrics)
    if (one.measures(labels->second)) fitting += text('"', one.name, "\", ");
  return text('"', metric.name, "\" is a number of models with ",
              metric.of_numbers ? "one label" : "two labels or more", ", and this one has ",
              labels->second, "; write ", fitting, "or \"", kLossMetric, '"');
}

}  // namespace zero
