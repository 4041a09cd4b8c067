#include "tests/objectives/tones.hpp"

#include "tests/objectives/tone_data.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

/// Returns the scores of each sample, by its first row.
graph::TensorId scores(graph::GraphBuilder& out, const Architecture& model, const Trunk& trunk,
                       int64_t labels) {
  out.unit("score");
  const graph::TensorId weight =
      out.parameter({.name = "score.weight", .shape = {model.numbers.count(kWidth), labels}});
  return graph::linear(out, graph::first_rows(out, trunk.last), weight, graph::kNone);
}

void tone_head(graph::GraphBuilder& out, const Architecture& model, const Trunk& trunk,
               const ForwardOptions& options) {
  graph::class_loss(out, {.logits = scores(out, model, trunk, kTones),
                          .labels = out.input({.name = "tone", .sample = {1}, .ids = kTones}),
                          .scores = !options.training});
}

void grade_head(graph::GraphBuilder& out, const Architecture& model, const Trunk& trunk,
                const ForwardOptions& options) {
  graph::squared_loss(out,
                      {.logits = scores(out, model, trunk, 1),
                       .labels = out.input({.name = "grade", .sample = {1}, .dtype = Dtype::f32}),
                       .scores = !options.training});
}

bool is_gpt2(const Family& family) { return family.settings.name == "gpt2"; }

}  // namespace

const Objective& tone_objective() {
  static const Objective kTonesLearnt{
      .settings = {.name = "tones",
                   .acts =
                       [](const RunConfig& config) {
                         return config.data.train.ends_with(".tones");
                       },
                   .metrics = label_metrics()},
      .data = &tone_data(),
      .counted_by = kBySample,
      .answers_users = false,
      .fits = is_gpt2,
      .head = tone_head};
  return kTonesLearnt;
}

const Objective& grade_objective() {
  static const Objective kGradesLearnt{
      .settings = {.name = "grades",
                   .acts =
                       [](const RunConfig& config) {
                         return config.data.train.ends_with(".grades");
                       },
                   .metrics = label_metrics()},
      .data = &grade_data(),
      .counted_by = kBySample,
      .answers_users = false,
      .fits = is_gpt2,
      .head = grade_head};
  return kGradesLearnt;
}

}  // namespace zero::model
