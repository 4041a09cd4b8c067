#include "zero/state/evaluation.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/model/label_scores.hpp"

namespace zero::state {

void Evaluation::List::push_back(const Measured& one) {
  ZERO_REQUIRE(size_ < all_.size(), "an objective of more than ", all_.size(), " metrics");
  all_[size_++] = one;
}

void Evaluation::measure(std::span<const Metric> of_objective, MetricSource source,
                         std::span<const int64_t> counts) {
  measure(of_objective, source, counts, loss);
}

void Evaluation::measure(std::span<const Metric> of_objective, MetricSource source,
                         std::span<const int64_t> counts, double of_source) {
  for (const Metric& metric : of_objective) {
    if (metric.source == source) metrics.push_back({&metric, metric.value(of_source, counts)});
  }
}

void Evaluation::measure(std::span<const Metric> of_objective, const model::LabelScores& scores) {
  for (const Metric& metric : of_objective) {
    if (metric.source == MetricSource::scores && metric.measures(scores.labels))
      metrics.push_back({&metric, metric.of_scores(scores)});
  }
}

const Evaluation::Measured* Evaluation::measured(std::string_view name) const {
  const auto found =
      std::ranges::find(metrics, name, [](const Measured& one) { return one.metric->name; });
  return found == metrics.end() ? nullptr : &*found;
}

}  // namespace zero::state
