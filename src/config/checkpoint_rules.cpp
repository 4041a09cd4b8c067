#include <string>

#include "src/config/key_contradictions.hpp"
#include "zero/base/text.hpp"
#include "zero/config/objective_keys.hpp"

namespace zero {
namespace {

using C = RunConfig;

bool validates(const C& c) { return !c.data.validation.empty() || c.data.validation_fraction > 0; }

std::string unmeasured_best(const C& c) {
  const int64_t saves = c.checkpoint.interval, evaluates = c.evaluation.interval;
  const bool measured = saves > 0 && evaluates > 0 && saves % evaluates == 0;
  if (c.checkpoint.best_metric.empty() || !validates(c) || measured) return "";
  return text("the best is chosen among steps that are saved and evaluated; write ",
              "checkpoint.interval as a multiple of evaluation.interval, not ", saves, " and ",
              evaluates);
}

/// The setting by which evaluations measure a source; "" if they need none.
struct Needed {
  std::string setting = "";
  bool is_there = true;
};

Needed needed_for(const C& c, MetricSource source) {
  const EvaluationConfig& asked = c.evaluation;
  switch (source) {
    case MetricSource::texts:
      return {"evaluation.generate = true", asked.generate};
    case MetricSource::choices:
      return {"evaluation.choices = \"FILE\"", !asked.choices.empty()};
    case MetricSource::documents:
      return {"evaluation.documents = \"FILE\"", !asked.documents.empty()};
    default:
      return {};
  }
}

/// Returns the metrics of an objective's scores for the model's labels: "\"accuracy\", ".
std::string own_metrics(const C& c, const ObjectiveSettings& objective) {
  const ModelNumbers numbers = model_numbers(c);
  const auto labels = numbers.counts.find(kLabelCount);
  std::string names;
  if (labels == numbers.counts.end()) return names;
  for (const Metric& one : objective.metrics) {
    if (one.source == MetricSource::scores && one.measures(labels->second))
      names += text('"', one.name, "\", ");
  }
  return names;
}

/// Refuses a metric that evaluations of this objective do not measure.
std::string unknown_best(const C& c) {
  const std::string& metric = c.checkpoint.best_metric;
  const ObjectiveSettings *acts = objective_of(c), *owner = objective_with(c.model.table, metric);
  if (!acts || !owner || !validates(c)) return "";
  const Metric* measured = acts->metric(metric);
  const MetricSource source = owner->metric(metric)->source;
  const Needed needed = needed_for(c, source);
  if (measured && needed.is_there) return fault_of_labels(c, *acts, *measured);
  const std::string what =
      source == MetricSource::texts
          ? text("texts that are generated for a validation set of ", owner->name)
      : measured ? std::string("texts that are scored")
                 : std::string(owner->name);
  const std::string own = own_metrics(c, *acts);
  const std::string advice =
      needed.setting.empty() || !own.empty() ? "" : text(needed.setting, " for such a model, or ");
  return text("\"", metric, "\" is a number of ", what, "; write ", advice, "best_metric = ", own,
              own.empty() ? "\"" : "or \"", kLossMetric, "\"");
}

}  // namespace

std::vector<Rule> checkpoint_rules() {
  return {
      clash({"checkpoint.keep"}, [](const C& c) { return c.checkpoint.keep == 1; },
            "a single checkpoint is lost with one damaged block; write 2 or more, or 0 to keep all",
            {"checkpoint.keep = 1"}),
      {.keys = {"checkpoint.best_metric", "checkpoint.interval", "evaluation.interval",
                "data.validation", "data.validation_fraction"},
       .broken = unmeasured_best,
       .example = {"data.validation_fraction = 0.5", "checkpoint.best_metric = \"eval_loss\"",
                   "evaluation.interval = 10", "checkpoint.interval = 15"}},
      {.keys = {"checkpoint.best_metric", "evaluation.generate", "evaluation.generate_samples",
                "evaluation.choices", "evaluation.documents", "data.validation",
                "data.validation_fraction"},
       .broken = unknown_best,
       .example = {"data.validation_fraction = 0.5", "evaluation.interval = 10",
                   "checkpoint.interval = 10", "checkpoint.best_metric = \"bleu\""}},
      clash({"checkpoint.load_best_at_end", "checkpoint.weights_only", "checkpoint.best_metric"},
            [](const C& c) { return c.checkpoint.load_best_at_end && c.checkpoint.weights_only; },
            "the best state is loaded whole; remove weights_only or load_best_at_end",
            {"data.validation_fraction = 0.5", "evaluation.interval = 10",
             "checkpoint.interval = 10", "checkpoint.best_metric = \"eval_loss\"",
             "checkpoint.weights_only = true", "checkpoint.load_best_at_end = true"}),
      clash({"checkpoint.resume_from", "checkpoint.resume"},
            [](const C& c) {
              return !c.checkpoint.resume_from.empty() && c.checkpoint.resume == Resume::never;
            },
            "resume = \"never\" begins anew; remove resume_from or resume",
            {"checkpoint.resume = \"never\"", "checkpoint.resume_from = \"runs/other\""}),
      clash({"checkpoint.resume_from", "model.init_from"},
            [](const C& c) {
              return !c.checkpoint.resume_from.empty() && !c.model.init_from.empty();
            },
            "resume_from goes on with a whole training, init_from begins one with weights alone; "
            "remove one of them",
            {"checkpoint.resume_from = \"runs/a\"", "model.init_from = \"runs/b\""}),
  };
}

}  // namespace zero
