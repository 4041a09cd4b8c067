#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/io/data/dataset.hpp"
#include "zero/io/text/tokenizer.hpp"
#include "zero/model/objective.hpp"
#include "zero/model/text_scores.hpp"
#include "zero/state/engine.hpp"
#include "zero/state/evaluation.hpp"
#include "zero/state/set_scores.hpp"
#include "zero/stored/stored_model.hpp"
#include "zero/text/decoding_ranks.hpp"
#include "zero/text/text_generator.hpp"
#include "zero/text/text_sampler.hpp"

namespace zero::train {

/// The weights and the validation set of an evaluation.
struct EvaluationParts {
  launch::Session& session;
  state::Engine& engine;
  const Dataset& validation;
  const model::Objective& objective;
};

/// An evaluation of a validation set, with the objective's metrics except those of texts. Its
/// memory is taken before the first step; evaluations allocate nothing.
class Evaluator {
 public:
  /// Throws Ended as SetScores. Collective. REQUIRES: the parts outlive the evaluator.
  explicit Evaluator(const EvaluationParts& parts);

  /// Runs evaluation bodies with `inputs`, and returns the loss and metrics on the whole set. Rank
  /// r of N runs micro-batches j N + r; samples past the end count nothing. Sums are exact, and
  /// metrics are computed from all samples in the file's order, so rank count and order change no
  /// digit. REQUIRES: the engine has no update pending. Collective.
  state::Evaluation evaluate(const kernels::StepInputs& inputs);

  /// True if the objective measures scores.
  bool measures_scores() const { return scores_.has_value(); }
  /// Returns the scores of the last evaluation in the order of the set's file, the same on every
  /// rank. REQUIRES: measures_scores().
  model::LabelScores scores() { return scores_.value().view(); }

 private:
  void begin();
  void add(int64_t first);

  EvaluationParts parts_;
  ExactSum loss_;
  int64_t nonfinite_ = 0;
  std::vector<int64_t> counts_, read_;  ///< sums of the objective's counts; those of a micro-batch
  std::optional<state::SetScores> scores_;  ///< if a metric is of scores
  std::vector<float> rows_;                 ///< scores of a micro-batch
};

/// Returns options by which a build answers a validation set's sources on `threads` threads. They
/// follow the completed [generation] of `config`, without ids that the tokenizer does not know.
/// Throws as writing::search_rules().
writing::GenerationOptions answer_options(const RunConfig& config, const setup::Build& build,
                                          const Tokenizer& tokenizer, int threads);

/// Returns the place and size of the device memory of `engine` that its plan leaves free until its
/// next body, for texts to borrow.
writing::LentMemory memory_between_bodies(state::Engine& engine);

/// Returns options by which a build writes samples that answer no source, on `threads` threads. The
/// completed [generation] of `config` acts if `written`, the [generation] of the input file, has
/// any key.
writing::SampleOptions sample_options(const RunConfig& config, const GenerationConfig& written,
                                      const setup::Build& build, int threads);

/// Returns config's [generation] as a first launch completes it: by the settings of `start`, the
/// model of model.init_from, unless null. Throws as require_generation().
GenerationConfig first_generation(const RunConfig& config, const stored::StoredModel* start);

/// Returns the texts that a training of this build writes: answers of evaluation.generate, samples
/// of evaluation.show_samples. Their bytes hold for any tokenizer. `config` and `written` are as in
/// sample_options(). Throws as writing::search_rules().
std::vector<setup::Texts> texts_of(const RunConfig& config, const GenerationConfig& written,
                                   const setup::Build& build);
/// Sets World::texts if `config` asks for texts, so builds count their memory. `completed` is the
/// [generation] that writes them.
void count_texts(const RunConfig& config, const GenerationConfig& completed, setup::World& world);

/// A function that returns a model's text for each source, a list of ids as the encoder reads it,
/// without padding. Every rank has all sources and texts in one order. May be collective.
using TextWriter =
    std::function<std::vector<std::vector<int32_t>>(std::span<const std::vector<int32_t>> sources)>;

/// The answers of a model to a validation set's sources, beside the targets as their file has them:
/// not cut to data.target_length.
struct Answers {
  model::TextCounts counts = {};
  double seconds = 0;
  std::string sources, texts, targets;  ///< a line each; line breaks inside become blanks

  /// Adds the objective's metrics of texts to an evaluation.
  void add_to(state::Evaluation& evaluation, const model::Objective& objective) const;
};

/// Returns the answers that `writes` gives to the first `samples` of `validation` in its file's
/// order; 0 = all. Texts leave out special ids, such as start and end, and ids that the tokenizer
/// does not know. Every rank counts all texts, so counts are the same at any number of ranks.
/// Throws as Dataset::target_text(). Collective if `writes` is.
Answers answer(const Dataset& validation, int64_t samples, const Tokenizer& tokenizer,
               const TextWriter& writes);

/// The engine whose weights answer, and the samples to answer.
struct AnswerParts {
  launch::Session& session;
  state::Engine& engine;
  const RunConfig& config;  ///< with [generation] completed
  const setup::Build& build;
  const Dataset& validation;
  const Tokenizer& tokenizer;
  int64_t samples = 0;  ///< first samples of the set; 0 = all
};
/// Returns the answers of the engine's weights, as the other answer(). REQUIRES: no body runs.
/// Collective.
Answers answer(const AnswerParts& parts);

}  // namespace zero::train
