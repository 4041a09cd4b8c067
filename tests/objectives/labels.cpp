#include "tests/objectives/labels.hpp"

#include "tests/objectives/label_counts.hpp"
#include "tests/objectives/label_data.hpp"
#include "zero/base/align.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

constexpr const char* kCounts = "label counts";

void head(graph::GraphBuilder& out, const Architecture& model, const Trunk& trunk,
          const ForwardOptions& options) {
  const int64_t rows = round_up<int64_t>(kLabels, 64);
  out.unit("score");
  const graph::TensorId table = out.parameter({.name = "score.weight",
                                               .shape = {rows, model.numbers.count(kWidth)},
                                               .padding_rows = rows - kLabels});
  const graph::TensorId labels =
      out.input({.name = "labels", .sample = {out.length()}, .ids = kLabels});
  graph::classifier(out, trunk.last, table, labels, kLabels,
                    options.micro.samples * options.micro.length);
  if (options.training) return;
  graph::testing::count_labels(
      out, {.x = trunk.last, .table = table, .labels = labels, .classes = kLabels}, kCounts);
}

int64_t count(std::span<const int64_t> counts, int64_t label, graph::testing::LabelCount what) {
  return counts[size_t(label * graph::testing::kLabelCounts + what)];
}

double accuracy(double, std::span<const int64_t> counts) {
  int64_t hits = 0, all = 0;
  for (int64_t label = 0; label < kLabels; ++label) {
    hits += count(counts, label, graph::testing::kHits);
    all += count(counts, label, graph::testing::kActual);
  }
  return double(hits) / double(all);
}

/// Returns the mean over labels of 2 hits / (chosen + actual), which is 0 for a label without any.
double macro_f1(double, std::span<const int64_t> counts) {
  double sum = 0;
  for (int64_t label = 0; label < kLabels; ++label) {
    const int64_t hits = count(counts, label, graph::testing::kHits);
    const int64_t both = count(counts, label, graph::testing::kChosen) +
                         count(counts, label, graph::testing::kActual);
    if (both > 0) sum += 2 * double(hits) / double(both);
  }
  return sum / double(kLabels);
}

Metric metric(std::string_view name, std::string_view words, decltype(Metric::value) value) {
  return {.name = name,
          .words = words,
          .digits = 4,
          .source = MetricSource::samples,
          .higher_is_better = true,
          .value = value};
}

}  // namespace

const Objective& label_objective() {
  static const Objective kObjective{
      .settings = {.name = "labels",
                   .acts =
                       [](const RunConfig& config) {
                         return config.data.train.ends_with(".labels");
                       },
                   .metrics = {metric("accuracy", "accuracy", accuracy),
                               metric("macro_f1", "macro F1", macro_f1)}},
      .data = &label_data(),
      .counted_by = kBySample,
      .counts = kCounts,
      .answers_users = false,
      .fits = [](const Family& family) { return family.settings.name == "gpt2"; },
      .head = head};
  return kObjective;
}

}  // namespace zero::model
