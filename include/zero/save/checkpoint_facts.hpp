#pragma once
/// What a checkpoint says in words: what a resume restores beside its tensors, and what it
/// compares.

#include <string>
#include <vector>

#include "zero/kernels/step_state.hpp"
#include "zero/save/checkpointer.hpp"

namespace zero::save {

/// Facts that others than a resume ask for.
inline constexpr const char *kConfigurationFact = "configuration", *kTokenizerFact = "tokenizer",
                            *kDescriptionFact = "model", *kWeightsOnlyFact = "weights_only",
                            *kSamplesFact = "samples_consumed", *kHealthyFact = "healthy",
                            *kGenerationFact = "generation";

/// Whether a checkpoint holds weights alone, from which no training goes on.
bool is_weights_only(const Facts& facts);

/// What a checkpoint's record of arithmetic says of attention whose gradients a GPU adds as they
/// come, numerics.attention = "fast": no other run gives the same bytes.
inline constexpr const char* kAnyOrder = "with sums in any order";
bool adds_in_any_order(const Facts& facts);
/// What a resume says where that holds of the checkpoint or of what goes on from it; else "".
std::string any_order_note(const Facts& saved, const Facts& now);
/// What names the library of attention in that record, up to its comma; "" where there is none.
std::string attention_text(const std::string& library, const RunConfig& config);

/// What that record says of the order in which kernels add, up to its comma; "" for the first one.
std::string order_text(int order_of_sums);

/// True if the plan's optimizer has norms of stored tensors that share a parameter. Checkpoints of
/// before had norms of parameters, which a resume warns of.
bool has_stored_norms(const plan::Plan& plan);

/// Adds every member of the state as "state.loss_scale" and so on, floats in hexadecimal.
void add_state(const kernels::StepState& state, Facts& facts);

/// The reverse. Throws Error(kInput) naming the fact that is missing or no number.
kernels::StepState state_in(const Facts& facts);

/// Whether skipped attempts count towards numerics.max_bad_steps. A dynamic loss scale skips some
/// by design; it counts only when it is at its minimum.
bool counts_streaks(const RunConfig& config);

/// Attempts in a row that were skipped up to a checkpoint; 0 where it does not say.
int64_t skipped_in_row(const Facts& facts);

/// The number of an evaluation by which checkpoint.best_metric chooses, turned such that more of it
/// is better; NaN where it has none.
double merit_of(const state::Evaluation& evaluation, BestMetric metric);

/// Adds the evaluation of the best checkpoint so far.
void add_best(const state::Evaluation& best, Facts& facts);

/// The reverse; none where there is none.
std::optional<state::Evaluation> best_in(const Facts& facts);

/// Adds how long evaluations have been no better.
void add_patience(const Patience& patience, BestMetric metric, Facts& facts);
/// The reverse of add_patience(); an empty count if the fact is absent or of another metric.
Patience patience_in(const Facts& facts, BestMetric metric);
/// Whether checkpoint.patience ends a training there.
bool is_out_of_patience(const Facts& facts, const CheckpointConfig& config);

/// The fingerprint of data as `zeroapp data` shows it, of the number in a fact: 16 hexadecimal
/// digits. What is no number stays.
std::string fingerprint_text(const std::string& fact);

/// Holds the model that a checkpoint's facts describe, `described`, against the network whose
/// tensors it says to hold. `place` names the checkpoint. Throws Error(kInput) with both facts.
void require_model_fits(const Facts& facts, const model::Architecture& described,
                        const std::string& place);

struct FactChanges {
  std::string refused;              ///< what forbids to go on, as a sentence; "" if nothing does
  std::vector<std::string> listed;  ///< "optimizer.lr = 0.01, now 0.02"
  bool other_precision = false;
  /// Whether the learning rate, clipping or the data are others: what a streak may end by.
  bool may_end_streak = false;
};
/// Lists what has changed since the checkpoint. Architecture, tokenizer and, unless `other_data`,
/// the data may not be; ranks, stage, buckets, recompute, intervals and output need no word.
FactChanges changes_since(const Facts& saved, const Facts& now, bool other_data);

}  // namespace zero::save
