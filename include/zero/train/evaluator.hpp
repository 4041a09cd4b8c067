#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "zero/io/data/dataset.hpp"
#include "zero/io/data/tokenizer.hpp"
#include "zero/model/family.hpp"
#include "zero/models/generator.hpp"
#include "zero/state/engine.hpp"

namespace zero::train {

/// The loss on a whole validation set. Micro-batch j N + r of it runs on rank r; what a rank lacks
/// at the end counts nothing. The sum is exact, so rank count and order change no digit. The engine
/// has no update pending. Collective.
state::Evaluation evaluate(state::Engine& engine, const Dataset& validation, int rank,
                           const kernels::StepInputs& inputs);

/// How texts of a validation set's sources are generated, by [generation] as it is completed and
/// without ids that the tokenizer does not know. Throws as models::search_rules().
models::GenerationOptions answer_options(const RunConfig& config, const state::Build& build,
                                         const Tokenizer& tokenizer, int threads);

/// What the engine's plan leaves free until its next body.
models::LentMemory memory_between_bodies(state::Engine& engine);

/// Returns how samples that answer no source are written. The completed [generation] of `config`
/// acts if `written`, the [generation] of the input file, has any key.
models::SampleOptions sample_options(const RunConfig& config, const GenerationConfig& written,
                                     const state::Build& build, int threads);

/// Returns [generation] as a first launch completes it: by what the model of model.init_from says,
/// if it is open. Throws as require_generation().
GenerationConfig first_generation(const RunConfig& config, const models::StoredModel* start);

/// Returns the texts that a training of this build writes: answers of evaluation.generate, samples
/// of evaluation.show_samples. Their bytes are those of any tokenizer. `config` and `written` are
/// as in sample_options(). Throws as models::search_rules().
std::vector<state::Texts> texts_of(const RunConfig& config, const GenerationConfig& written,
                                   const state::Build& build);
/// Lets builds count those texts, if `config` asks for any: sets World::texts. `completed` is the
/// [generation] by which they are written.
void count_texts(const RunConfig& config, const GenerationConfig& completed, state::World& world);

/// The texts of a model for sources, each a list of ids as the encoder reads it, without padding:
/// all sources and all texts on every rank, in one order. May be collective.
using TextWriter =
    std::function<std::vector<std::vector<int32_t>>(std::span<const std::vector<int32_t>> sources)>;

/// What a model answers to the sources of a validation set of pairs, beside the targets as their
/// file has them: not cut to data.target_length.
struct Answers {
  state::Evaluation::Texts figures;
  std::string sources, texts, targets;  ///< a line each; what ends a line in one is a blank there
};

/// Answers the first `samples` of the set in its file's order, or all with 0. Ids that mean
/// something, such as the start and the end, are no part of a text, nor are ids that the tokenizer
/// does not know. Every rank counts all texts, so that all have the same figures at any number of
/// ranks. Throws as Dataset::target_text(). Collective if `writes` is.
Answers answer(const Dataset& validation, int64_t samples, const Tokenizer& tokenizer,
               const TextWriter& writes);

/// The weights of an engine that answer, and what is asked of them.
struct AnswerParts {
  launch::Session& session;
  state::Engine& engine;
  const RunConfig& config;  ///< [generation] completed
  const state::Build& build;
  const Dataset& validation;
  const Tokenizer& tokenizer;
  int64_t samples = 0;  ///< of the set; 0: all
};
/// The same by those weights. Between bodies; collective.
Answers answer(const AnswerParts& parts);

}  // namespace zero::train
