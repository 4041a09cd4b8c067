// Ranks: 1
#include "zero/state/evaluation.hpp"

#include <gtest/gtest.h>

#include <array>

#include "zero/model/label_scores.hpp"

namespace zero::state {
namespace {

double share(double, std::span<const int64_t> counts) {
  return double(counts[0]) / double(counts[1]);
}

TEST(Evaluation, HoldsTheMetricsOfEachSourceInTheirOrder) {
  const std::array metrics = {
      Metric{.name = "double",
             .value = [](double loss, std::span<const int64_t>) { return 2 * loss; }},
      Metric{.name = "share", .source = MetricSource::samples, .value = share},
      Metric{.name = "never", .source = MetricSource::texts, .value = share}};
  Evaluation evaluation{.loss = 1.5};
  evaluation.measure(metrics, MetricSource::loss);
  evaluation.measure(metrics, MetricSource::samples, std::array<int64_t, 2>{3, 4});
  ASSERT_EQ(evaluation.metrics.size(), 2u);
  EXPECT_EQ(evaluation.measured("double")->value, 3);
  EXPECT_EQ(evaluation.measured("share")->value, 0.75);
  EXPECT_EQ(evaluation.metrics[1].metric, &metrics[1]);
  EXPECT_EQ(evaluation.measured("never"), nullptr);
}

TEST(Evaluation, HoldsTheMetricsOfScoresThatFitTheLabels) {
  const auto labels = [](const model::LabelScores& scores) { return double(scores.labels); };
  const std::array metrics = {
      Metric{.name = "share", .source = MetricSource::samples, .value = share},
      Metric{.name = "class", .source = MetricSource::scores, .of_scores = labels},
      Metric{.name = "number",
             .source = MetricSource::scores,
             .of_scores = labels,
             .of_numbers = true}};
  Evaluation classes, numbers;
  classes.measure(metrics, model::LabelScores{.labels = 3});
  numbers.measure(metrics, model::LabelScores{.labels = 1});
  ASSERT_TRUE(classes.metrics.size() == 1 && numbers.metrics.size() == 1);
  EXPECT_EQ(classes.measured("class")->value, 3);
  EXPECT_EQ(numbers.measured("number")->value, 1);
}

}  // namespace
}  // namespace zero::state
