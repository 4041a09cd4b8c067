#include <algorithm>
#include <cmath>

#include "zero/base/error.hpp"
#include "zero/model/choice_scores.hpp"
#include "zero/model/objective.hpp"

namespace zero::model {

bool Objective::measures(MetricSource source) const {
  return std::ranges::find(settings.metrics, source, &Metric::source) != settings.metrics.end();
}

std::vector<const Objective*> objectives() {
  return {&next_token_objective(), &document_objective(), &pair_objective(), &span_objective(),
          &label_objective()};
}

const Objective& objective_for(const RunConfig& config) {
  const ObjectiveSettings* settings = objective_of(config);
  ZERO_REQUIRE(settings && settings->functions, "a table of models without objectives");
  return *settings->functions;
}

std::vector<Metric> token_metrics() {
  std::vector<Metric> metrics = scoring_metrics();
  metrics.insert(metrics.begin(), perplexity_metric());
  return metrics;
}

std::vector<OwnKey> scoring_keys() {
  return {{.name = "evaluation.choices"}, {.name = "evaluation.documents"}};
}

Metric perplexity_metric() {
  return {.name = "perplexity",
          .words = "perplexity",
          .digits = 4,
          .value = [](double loss, std::span<const int64_t>) { return std::exp(loss); }};
}

}  // namespace zero::model
