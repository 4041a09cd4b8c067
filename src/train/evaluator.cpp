#include "zero/train/evaluator.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/generation.hpp"
#include "zero/model/text_scores.hpp"
#include "zero/plan/plan.hpp"
#include "zero/stored/stored_model.hpp"
#include "zero/text/character_stream.hpp"
#include "zero/text/sampler.hpp"
#include "zero/text/shared_texts.hpp"
#include "zero/text/text_generator.hpp"
#include "zero/text/weights_together.hpp"
#include "zero/train/batch_loader.hpp"

namespace zero::train {

state::Evaluation evaluate(state::Engine& engine, const Dataset& validation, int rank,
                           const kernels::StepInputs& inputs) {
  const plan::Plan& plan = engine.plan();
  const int64_t micro = plan.graphs[1].samples;
  const int32_t loss = plan.output(1, graph::kLossOutput);
  ExactSum total;
  total.clear();
  int64_t nonfinite = 0;
  state::Evaluation result{.step = inputs.step,
                           .tokens = validation.counted(0, validation.samples())};
  for (int64_t first = 0; first < validation.samples(); first += micro * plan.request.ranks) {
    load_samples(engine, 1, validation, first + rank * micro, micro);
    engine.run(plan::kEvaluate, inputs);
    result.seconds += engine.last_seconds();
    kernels::StepSums sums;
    engine.executor().buffers().read(loss, 0, std::as_writable_bytes(std::span(&sums, 1)));
    total.add(sums.loss);
    nonfinite += sums.nonfinite_loss;
  }
  result.loss = nonfinite > 0 ? std::numeric_limits<double>::quiet_NaN()
                              : total.value() / double(result.tokens);
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
  ZERO_REQUIRE(columns.size() == 3 && !columns[0].ids.empty(), "no pair stands at ", position);
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
          .together = writing::weights_together(build.plan.request)};
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
          .together = writing::weights_together(build.plan.request)};
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
  const bool answers = model::data_form(build.recipe.model).start >= 0;
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
  model::TextCounts counts;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string text =
        as_line(writing::answer_text(texts[i], questions[i].start, questions[i].end, tokenizer));
    const std::string target = as_line(validation.target_text(positions[i]).value_or(""));
    counts += model::count_pair(text, target);
    answers.sources += as_line(writing::answer_text(questions[i].source, questions[i].start,
                                                    questions[i].end, tokenizer)) +
                       "\n";
    answers.texts += text + "\n";
    answers.targets += target + "\n";
  }
  answers.figures = {.count = int64_t(texts.size()),
                     .bleu = model::bleu(counts),
                     .exact_match = model::exact_match(counts),
                     .seconds = std::chrono::duration<double>(Clock::now() - begun).count()};
  return answers;
}

Answers answer(const AnswerParts& parts) {
  writing::GenerationOptions options =
      answer_options(parts.config, parts.build, parts.tokenizer, parts.session.threads());
  options.together = writing::weights_together(parts.session, parts.engine.plan().request,
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
  writing::warn_of_stuck(parts.session.peers(), stuck, answers.figures.count);
  return answers;
}

}  // namespace zero::train
