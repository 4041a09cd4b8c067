/// The objectives of families with an encoder: both learn a target behind a source, with the
/// family's own head.

#include "zero/model/objective.hpp"
#include "zero/model/text_scores.hpp"

namespace zero::model {
namespace {

constexpr std::string_view kFamilies = "that learns from pairs of texts",
                           kNoise = "data.noise_density";

std::vector<Metric> pair_metrics() {
  return {
      perplexity_metric(),
      {.name = "bleu",
       .words = "BLEU",
       .digits = 2,
       .source = MetricSource::texts,
       .higher_is_better = true,
       .value = [](double, std::span<const int64_t> counts) { return bleu(text_counts(counts)); },
       .signature = bleu_signature()},
      {.name = "exact_match",
       .words = "exact match",
       .digits = 4,
       .source = MetricSource::texts,
       .higher_is_better = true,
       .value = [](double, std::span<const int64_t> counts) {
         return exact_match(text_counts(counts));
       }}};
}

}  // namespace

const Objective& pair_objective() {
  static const Objective kPairs{
      .settings = {.name = "pairs",
                   .families = kFamilies,
                   .setting = "data.noise_density = 0",
                   .setting_key = kNoise,
                   .acts = [](const RunConfig& config) { return config.data.noise_density == 0; },
                   .keys = {{.name = "evaluation.generate", .validates = true}},
                   .metrics = pair_metrics()},
      .data = &pair_data()};
  return kPairs;
}

const Objective& span_objective() {
  static const Objective kSpans{
      .settings = {.name = "spans",
                   .families = kFamilies,
                   .setting = "a data.noise_density above 0",
                   .setting_key = kNoise,
                   .acts = [](const RunConfig& config) { return config.data.noise_density > 0; },
                   .metrics = {perplexity_metric()}},
      .data = &span_data(),
      .answers_users = false};
  return kSpans;
}

}  // namespace zero::model
