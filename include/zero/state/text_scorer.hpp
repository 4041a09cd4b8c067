#pragma once

#include <vector>

#include "zero/io/data/scored_texts.hpp"
#include "zero/launch/session.hpp"
#include "zero/model/choice_scores.hpp"
#include "zero/model/objective.hpp"
#include "zero/state/engine.hpp"
#include "zero/state/evaluation.hpp"

namespace zero::state {

/// Returns the inputs of a body that evaluates weights outside of a training.
kernels::StepInputs inputs_of_evaluation();

/// Returns the score of each sample of a set under the engine's weights, alike on every rank. Rank
/// r of N runs micro-batches j N + r, and a sum adds the tokens of a sample in their order, so rank
/// count changes no digit. Adds the time to `seconds`. REQUIRES: the plan's evaluation has
/// kTokenScoresOutput, and the engine has no update pending. Collective.
std::vector<model::SampleScore> sample_scores(launch::Session& session, Engine& engine,
                                              const ScoredTexts& samples, double& seconds);

/// Adds the objective's metrics of a scored set to an evaluation. Makes the evaluation's loss NaN
/// if a score is not finite.
void add_scores(const ScoredSet& set, const std::vector<model::SampleScore>& scores,
                const model::Objective& objective, Evaluation& evaluation);

}  // namespace zero::state
