#include "zero/state/text_scorer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include "zero/base/error.hpp"
#include "zero/graph/token_scores.hpp"
#include "zero/kernels/classifier.hpp"
#include "zero/plan/plan.hpp"
#include "zero/state/batch_loader.hpp"

namespace zero::state {
namespace {

using kernels::TokenScore;
using model::SampleScore;

/// A score on its way to other ranks.
struct Sent {
  int64_t sample;
  double sum;
  int64_t is_greedy;
};

/// Adds a sample's tokens in their order.
SampleScore sum_of(std::span<const TokenScore> tokens) {
  SampleScore score{.sum = 0, .is_greedy = true};
  for (const TokenScore& token : tokens) {
    score.sum += double(token.log_probability);
    score.is_greedy &= token.is_likeliest == 1;
  }
  return score;
}

/// Returns the scores of all ranks' samples, [samples].
std::vector<SampleScore> shared(const launch::Peers& peers, const std::vector<Sent>& own,
                                int64_t samples) {
  const std::string bytes(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(Sent));
  std::vector<SampleScore> all(static_cast<size_t>(samples));
  for (const std::string& of_rank : peers.share(bytes)) {
    for (size_t at = 0; at < of_rank.size(); at += sizeof(Sent)) {
      Sent sent;
      std::memcpy(&sent, of_rank.data() + at, sizeof sent);
      all.at(size_t(sent.sample)) = {.sum = sent.sum, .is_greedy = sent.is_greedy != 0};
    }
  }
  return all;
}

/// Scores the samples of this rank.
class OwnScores {
 public:
  OwnScores(Engine& engine, const ScoredTexts& samples)
      : engine_(engine),
        samples_(samples),
        micro_(engine.plan().graphs[1].samples),
        output_(engine.plan().output(1, graph::kTokenScoresOutput)),
        tokens_(size_t(micro_ * samples.columns().front().numel)) {}

  /// Runs the micro-batch at position `first`. Samples past the end count nothing.
  void run(int64_t first) {
    load_samples(engine_, 1, samples_, first, micro_);
    engine_.run(plan::kEvaluate, inputs_of_evaluation());
    const size_t form = samples_.form_of(first, micro_);
    const int64_t length = samples_.columns_of(form).front().numel;
    const auto tokens = std::span(tokens_).first(size_t(micro_ * length));
    engine_.executor().buffers().read(output_, 0, std::as_writable_bytes(tokens));
    for (int64_t i = 0; i < micro_; ++i) {
      const int64_t sample = samples_.sample_at(first + i);
      if (sample >= samples_.samples()) continue;
      const auto [begin, end] = samples_.scored(sample);
      const SampleScore score =
          sum_of(tokens.subspan(size_t(i * length + begin), size_t(end - begin)));
      made_.push_back({.sample = sample, .sum = score.sum, .is_greedy = score.is_greedy});
    }
  }
  const std::vector<Sent>& made() const { return made_; }

 private:
  Engine& engine_;
  const ScoredTexts& samples_;
  int64_t micro_;
  int32_t output_;
  std::vector<TokenScore> tokens_;  ///< of a micro-batch
  std::vector<Sent> made_;
};

}  // namespace

kernels::StepInputs inputs_of_evaluation() {
  return {.seed = 0,
          .step = 1,
          .first_sample = 0,
          .counted_tokens = 1,
          .pending = 0,
          .rejected = 0,
          .audited = 0,
          .pending_step = 0,
          .pending_tokens = 0};
}

std::vector<SampleScore> sample_scores(launch::Session& session, Engine& engine,
                                       const ScoredTexts& samples, double& seconds) {
  OwnScores own(engine, samples);
  const int64_t micro = engine.plan().graphs[1].samples;
  for (int64_t first = 0; first < samples.samples(); first += micro * session.ranks()) {
    own.run(first + session.rank() * micro);
    seconds += engine.last_seconds();
  }
  return shared(session.peers(), own.made(), samples.samples());
}

void add_scores(const ScoredSet& set, const std::vector<SampleScore>& scores,
                const model::Objective& objective, Evaluation& evaluation) {
  double loss = 0;
  for (const SampleScore& score : scores) loss -= score.sum;
  if (!std::isfinite(loss)) evaluation.loss = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Metric>& metrics = objective.settings.metrics;
  if (set.choices.empty()) {
    evaluation.measure(metrics, MetricSource::documents, std::array{set.words, set.bytes}, loss);
    return;
  }
  model::ChoiceCounts counts;
  for (const ScoredChoices& record : set.choices) {
    counts += model::count_choices(
        record, std::span(scores).subspan(size_t(record.first), record.bytes.size()));
  }
  using Numbers = std::array<int64_t, sizeof counts / sizeof(int64_t)>;
  evaluation.measure(metrics, MetricSource::choices, std::bit_cast<Numbers>(counts));
}

}  // namespace zero::state
