/// The objective of families that classify texts, with their own head.

#include "zero/model/label_scores.hpp"
#include "zero/model/objective.hpp"

namespace zero::model {
namespace {

Metric metric(std::string_view name, std::string_view words,
              double (*of_scores)(const LabelScores&)) {
  return {.name = name,
          .words = words,
          .digits = 4,
          .source = MetricSource::scores,
          .higher_is_better = true,
          .of_scores = of_scores,
          .of_numbers = of_scores == pearson || of_scores == spearman};
}

Metric f1_metric() {
  Metric made = metric("f1", "F1", f1);
  made.signature = "F1 of class 1 of two; of more classes the mean over those that occur (macro)";
  return made;
}

}  // namespace

std::vector<Metric> label_metrics() {
  return {metric("accuracy", "accuracy", accuracy), f1_metric(),
          metric("matthews", "Matthews correlation", matthews),
          metric("pearson", "Pearson correlation", pearson),
          metric("spearman", "Spearman correlation", spearman)};
}

const Objective& label_objective() {
  static const Objective kLabels{.settings = {.name = "labels",
                                              .families = "that learns labels of texts",
                                              .metrics = label_metrics()},
                                 .data = &label_data(),
                                 .counted_by = kBySample,
                                 .answers_users = false};
  return kLabels;
}

}  // namespace zero::model
