#include "zero/train/evaluator.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/generation_keys.hpp"
#include "zero/plan/plan.hpp"
#include "zero/state/batch_loader.hpp"
#include "zero/stored/stored_model.hpp"
#include "zero/text/character_stream.hpp"
#include "zero/text/decoding_ranks.hpp"
#include "zero/text/shared_texts.hpp"
#include "zero/text/text_generator.hpp"
#include "zero/text/text_sampler.hpp"

namespace zero::train {

namespace {

/// Reads an output of the evaluation graph after a micro-batch.
template <class T>
void read_output(state::Engine& engine, std::string_view output, std::span<T> out) {
  engine.executor().buffers().read(engine.plan().output(1, output), 0, std::as_writable_bytes(out));
}

}  // namespace

Evaluator::Evaluator(const EvaluationParts& parts) : parts_(parts) {
  const graph::Graph& graph = parts.engine.plan().graphs[1];
  const auto numel_of = [&](std::string_view output) {
    return graph[graph.output(output)].shape.numel();
  };
  if (!parts.objective.counts.empty()) {
    counts_.resize(size_t(numel_of(parts.objective.counts)));
    read_.resize(counts_.size());
  }
  if (!parts.objective.measures(MetricSource::scores)) return;
  rows_.resize(size_t(numel_of(graph::kScoresOutput)));
  parts.session.on_every_rank(
      [&] { scores_.emplace(parts.validation, int64_t(rows_.size()) / graph.samples); });
}

void Evaluator::begin() {
  loss_.clear();
  nonfinite_ = 0;
  std::ranges::fill(counts_, 0);
  if (scores_) scores_->clear();
}

/// Adds the outputs of this rank's last micro-batch, which begins at position `first`. The plan has
/// summed its loss over all ranks.
void Evaluator::add(int64_t first) {
  kernels::StepSums sums;
  read_output(parts_.engine, graph::kLossOutput, std::span(&sums, 1));
  loss_.add(sums.loss);
  nonfinite_ += sums.nonfinite_loss;
  if (!counts_.empty()) read_output(parts_.engine, parts_.objective.counts, std::span(read_));
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += read_[i];
  if (!scores_) return;
  read_output(parts_.engine, graph::kScoresOutput, std::span(rows_));
  scores_->take(first, rows_);
}

state::Evaluation Evaluator::evaluate(const kernels::StepInputs& inputs) {
  const auto& [session, engine, validation, objective] = parts_;
  const plan::Plan& plan = engine.plan();
  const int64_t micro = plan.graphs[1].samples;
  begin();
  state::Evaluation result{.step = inputs.step,
                           .counted = validation.counted(0, validation.samples()),
                           .counted_by = objective.counted_by};
  for (int64_t first = 0; first < validation.samples(); first += micro * plan.request.ranks) {
    const int64_t own = first + session.rank() * micro;
    state::load_samples(engine, 1, validation, own, micro);
    engine.run(plan::kEvaluate, inputs);
    result.seconds += engine.last_seconds();
    add(own);
  }
  result.loss = nonfinite_ > 0 ? std::numeric_limits<double>::quiet_NaN()
                               : loss_.value() / double(result.counted);
  const std::vector<Metric>& metrics = objective.settings.metrics;
  result.measure(metrics, MetricSource::loss);
  for (int64_t& count : counts_) count = int64_t(session.peers().sum(double(count)));
  if (!counts_.empty()) result.measure(metrics, MetricSource::samples, counts_);
  if (!scores_) return result;
  scores_->share(session.peers());
  result.measure(metrics, scores_->view());
  return result;
}

namespace {

using Ids = std::vector<int32_t>;

/// A source, and the special ids around texts.
struct Asked {
  Ids source;
  int32_t start, end;
};

Asked asked(const Dataset& validation, int64_t position) {
  const std::vector<ShownIds> columns = validation.shown(position);
  ZERO_REQUIRE(columns.size() == 3 && !columns[0].ids.empty(), "no source stands at ", position);
  return {.source = columns[0].ids, .start = columns[1].ids[0], .end = columns[0].ids.back()};
}

/// Returns the position of each sample. data.length_buckets orders samples unlike their file.
std::vector<int64_t> positions_of_samples(const Dataset& data) {
  std::vector<int64_t> positions(size_t(data.samples()));
  for (int64_t at = 0; at < data.samples(); ++at) positions[size_t(data.sample_at(at))] = at;
  return positions;
}

/// Returns `text` as a line of a file of texts: valid characters without line breaks.
std::string as_line(const std::string& text) {
  writing::CharacterStream characters;
  std::string line = characters.add(text) + characters.finish();
  std::ranges::replace(line, '\n', ' ');
  std::ranges::replace(line, '\r', ' ');
  return line;
}

}  // namespace

writing::GenerationOptions answer_options(const RunConfig& config, const setup::Build& build,
                                          const Tokenizer& tokenizer, int threads) {
  const int64_t source = config.data.source_length;
  writing::SearchRules rules =
      writing::search_rules(config.generation, build.recipe.model, config.data.sequence_length,
                            uint64_t(config.run.seed));
  writing::suppress_unknown(tokenizer, model::data_form(build.recipe.model), rules.scores);
  return {.rules = std::move(rules),
          .compute = build.plan.request.compute,
          .threads = threads,
          .batch = build.evaluation_micro ? build.evaluation_micro : build.batch.micro,
          .longest_source = source > 0 ? source : config.data.sequence_length,
          .together = writing::decoding_ranks(build.plan.request)};
}

writing::LentMemory memory_between_bodies(state::Engine& engine) {
  return {.arena = &engine.executor().buffers().arena(plan::Tier::device),
          .begin = plan::free_between_bodies(engine.plan()).begin};
}

writing::SampleOptions sample_options(const RunConfig& config, const GenerationConfig& written,
                                      const setup::Build& build, int threads) {
  std::optional<writing::SearchRules> rules;
  if (!generation_values(written).empty()) {
    constexpr int64_t kTokens = 200;
    const int64_t room = config.data.sequence_length - 1;
    rules = writing::search_rules(config.generation, build.recipe.model, std::min(kTokens, room),
                                  uint64_t(config.run.seed));
  }
  return {.rules = std::move(rules),
          .samples = config.evaluation.show_samples,
          .seed = uint64_t(config.run.seed),
          .threads = threads,
          .together = writing::decoding_ranks(build.plan.request)};
}

GenerationConfig first_generation(const RunConfig& config, const stored::StoredModel* start) {
  if (start == nullptr) return config.generation;
  const GenerationConfig& under = start->description().generation;
  require_generation(config.generation, under);
  return completed(config.generation, under);
}

std::vector<setup::Texts> texts_of(const RunConfig& config, const GenerationConfig& written,
                                   const setup::Build& build) {
  const int threads = build.plan.request.threads;
  const bool samples = config.evaluation.show_samples > 0;
  const bool answers = model::data_form(build.recipe.model).ids.start >= 0;
  // Any tokenizer serves: the ids that it knows take no memory.
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer("bytes");
  std::vector<setup::Texts> texts;
  if (config.evaluation.generate || (samples && answers)) {
    texts.push_back({config.evaluation.generate ? "evaluation.generate" : "evaluation.show_samples",
                     writing::TextGenerator::bytes(
                         build.recipe, answer_options(config, build, *tokenizer, threads))});
  }
  if (samples && !answers) {
    texts.push_back({"evaluation.show_samples",
                     writing::sample_bytes(build.recipe, config.data.sequence_length, *tokenizer,
                                           sample_options(config, written, build, threads))});
  }
  return texts;
}

void count_texts(const RunConfig& config, const GenerationConfig& completed, setup::World& world) {
  if (!config.evaluation.generate && config.evaluation.show_samples == 0) return;
  world.texts = [completed](const RunConfig& asked, const setup::Build& build) {
    RunConfig own = asked;
    own.generation = completed;
    return texts_of(own, asked.generation, build);
  };
}

void Answers::add_to(state::Evaluation& evaluation, const model::Objective& objective) const {
  evaluation.texts = counts.texts;
  evaluation.texts_seconds = seconds;
  evaluation.measure(objective.settings.metrics, MetricSource::texts, model::numbers_of(counts));
}

Answers answer(const Dataset& validation, int64_t samples, const Tokenizer& tokenizer,
               const TextWriter& writes) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun = Clock::now();
  std::vector<int64_t> positions = positions_of_samples(validation);
  positions.resize(size_t(limited(validation.samples(), samples)));
  std::vector<Asked> questions;
  std::vector<Ids> sources;
  for (const int64_t position : positions) {
    sources.push_back(questions.emplace_back(asked(validation, position)).source);
  }
  const std::vector<Ids> texts = writes(sources);
  ZERO_REQUIRE(texts.size() == sources.size(), texts.size(), " texts for ", sources.size(),
               " sources");
  Answers answers;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string text =
        as_line(writing::answer_text(texts[i], questions[i].start, questions[i].end, tokenizer));
    const std::string target = as_line(validation.target_text(positions[i]).value_or(""));
    answers.counts += model::count_text(text, target);
    answers.sources += as_line(writing::answer_text(questions[i].source, questions[i].start,
                                                    questions[i].end, tokenizer)) +
                       "\n";
    answers.texts += text + "\n";
    answers.targets += target + "\n";
  }
  answers.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return answers;
}

Answers answer(const AnswerParts& parts) {
  writing::GenerationOptions options =
      answer_options(parts.config, parts.build, parts.tokenizer, parts.session.threads());
  options.together = writing::decoding_ranks(parts.session, parts.engine.plan().request,
                                             parts.engine.lane_comms());
  if (options.together) options.together->planned = &parts.engine.planned_of_texts();
  options.lent = memory_between_bodies(parts.engine);
  const launch::Lookout::Busy generating(parts.session.lookout());
  const auto writes = [&](std::span<const Ids> sources) {
    return writing::generate_texts(parts.engine.view(), parts.session.peers(), parts.build.recipe,
                                   options, sources);
  };
  std::atomic<int64_t> stuck{0};
  options.rules.stuck = &stuck;
  Answers answers = answer(parts.validation, parts.samples, parts.tokenizer, writes);
  writing::warn_of_stuck(parts.session.peers(), stuck, answers.counts.texts);
  return answers;
}

}  // namespace zero::train
