#include "tests/objectives/moods.hpp"

#include "tests/objectives/mood_counts.hpp"
#include "tests/objectives/mood_data.hpp"
#include "zero/base/align.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

constexpr const char* kCounts = "mood counts";

void head(graph::GraphBuilder& out, const Architecture& model, const Trunk& trunk,
          const ForwardOptions& options) {
  const int64_t rows = round_up<int64_t>(kMoods, 64);
  out.unit("score");
  const graph::TensorId table = out.parameter({.name = "score.weight",
                                               .shape = {rows, model.numbers.count(kWidth)},
                                               .padding_rows = rows - kMoods});
  const graph::TensorId moods =
      out.input({.name = "moods", .sample = {out.length()}, .ids = kMoods});
  graph::classifier(out, trunk.last, table, moods, kMoods,
                    options.micro.samples * options.micro.length);
  if (options.training) return;
  graph::testing::count_moods(
      out, {.x = trunk.last, .table = table, .moods = moods, .classes = kMoods}, kCounts);
}

int64_t count(std::span<const int64_t> counts, int64_t mood, graph::testing::MoodCount what) {
  return counts[size_t(mood * graph::testing::kMoodCounts + what)];
}

double hit_rate(double, std::span<const int64_t> counts) {
  int64_t hits = 0, all = 0;
  for (int64_t mood = 0; mood < kMoods; ++mood) {
    hits += count(counts, mood, graph::testing::kHits);
    all += count(counts, mood, graph::testing::kActual);
  }
  return double(hits) / double(all);
}

/// Returns the mean over moods of 2 hits / (chosen + actual), which is 0 for a mood without any.
double macro_f1(double, std::span<const int64_t> counts) {
  double sum = 0;
  for (int64_t mood = 0; mood < kMoods; ++mood) {
    const int64_t hits = count(counts, mood, graph::testing::kHits);
    const int64_t both =
        count(counts, mood, graph::testing::kChosen) + count(counts, mood, graph::testing::kActual);
    if (both > 0) sum += 2 * double(hits) / double(both);
  }
  return sum / double(kMoods);
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

const Objective& mood_objective() {
  static const Objective kObjective{
      .settings = {.name = "moods",
                   .acts =
                       [](const RunConfig& config) {
                         return config.data.train.ends_with(".moods");
                       },
                   .metrics = {metric("hit_rate", "hit rate", hit_rate),
                               metric("macro_f1", "macro F1", macro_f1)}},
      .data = &mood_data(),
      .counted_by = kBySample,
      .counts = kCounts,
      .answers_users = false,
      .fits = [](const Family& family) { return family.settings.name == "gpt2"; },
      .head = head};
  return kObjective;
}

}  // namespace zero::model
