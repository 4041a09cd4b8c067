#pragma once
/// The facts of a checkpoint, in words: those that a resume restores beside the tensors, and those
/// that it compares.

#include <string>
#include <vector>

#include "zero/kernels/step_state.hpp"
#include "zero/model/objective.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/state/spike_window.hpp"

namespace zero::save {

/// Names of facts that are also read outside of a resume.
inline constexpr const char *kConfigurationFact = "configuration", *kTokenizerFact = "tokenizer",
                            *kDescriptionFact = "model", *kWeightsOnlyFact = "weights_only",
                            *kSamplesFact = "samples_consumed", *kHealthyFact = "healthy",
                            *kGenerationFact = "generation", *kArchitectureFact = "architecture",
                            *kLentFact = "lent_weights", *kClassesFact = "classes";

/// True if a checkpoint of these facts holds weights alone, from which no training goes on.
bool is_weights_only(const Facts& facts);

/// The words in a checkpoint's record of arithmetic if a GPU adds gradients of attention as they
/// come, numerics.attention = "fast". No other run then gives the same bytes.
inline constexpr const char* kAnyOrder = "with sums in any order";
/// True if the record of arithmetic in these facts has kAnyOrder.
bool adds_in_any_order(const Facts& facts);
/// Returns a resume's note if the checkpoint, with facts `saved`, or its continuation, with facts
/// `now`, adds in any order; else "".
std::string any_order_note(const Facts& saved, const Facts& now);
/// Returns the part of the record of arithmetic on attention, up to its comma: the name `library`,
/// and kAnyOrder if `config` asks for it. Returns "" if `library` is "".
std::string attention_text(const std::string& library, const RunConfig& config);

/// Returns the part of the record of arithmetic on the order in which kernels add, up to its comma.
/// `order_of_sums` is its number; "" for the first.
std::string order_text(int order_of_sums);

/// True if the plan's optimizer has norms of stored tensors that share a parameter. A resume warns
/// of a checkpoint whose norms are of parameters.
bool has_stored_norms(const plan::Plan& plan);

/// Adds to `facts` every member of the state that a later attempt reads, as "state.loss_scale" and
/// so on, floats in hexadecimal.
void add_state(const kernels::StepState& state, Facts& facts);

/// Returns the state that add_state() put into `facts`. Throws Error(kInput) with the fact that is
/// missing or not a number.
kernels::StepState state_in(const Facts& facts);

/// Adds to `facts` the window by which steps are told from spikes.
void add_spikes(const state::SpikeWindow::Content& content, Facts& facts);
/// Returns the window that add_spikes() put into `facts`, an empty one if there is none. Throws
/// Error(kInput) with the fact that no run writes.
state::SpikeWindow::Content spikes_in(const Facts& facts);

/// True if all skipped attempts of a run count towards numerics.max_bad_steps. A dynamic loss scale
/// skips some by design; it counts only at its minimum.
bool counts_streaks(const RunConfig& config);

/// Returns the attempts in a row that were skipped up to a checkpoint of these facts; 0 if unknown.
int64_t skipped_in_row(const Facts& facts);

/// Returns the score of an evaluation under `metric`, the value of checkpoint.best_metric. Higher
/// is better. NaN if the metric was not measured.
double merit_of(const state::Evaluation& evaluation, std::string_view metric);

/// Adds to `facts` the evaluation of the best checkpoint so far.
void add_best(const state::Evaluation& best, Facts& facts);

/// Returns the evaluation that add_best() put into `facts`, or none. `objective` has its metrics.
std::optional<state::Evaluation> best_in(const Facts& facts, const model::Objective& objective);

/// Adds to `facts` the count `patience` of evaluations without improvement, by `metric`.
void add_patience(const Patience& patience, const std::string& metric, Facts& facts);
/// Returns the count that add_patience() put into `facts`; an empty one if there is none or it is
/// of another metric.
Patience patience_in(const Facts& facts, const std::string& metric);
/// True if checkpoint.patience ends a training at a checkpoint of these facts.
bool is_out_of_patience(const Facts& facts, const CheckpointConfig& config);

/// Returns a fact's fingerprint of data as `zeroapp data` shows it: 16 hexadecimal digits. Returns
/// a fact that is not a number unchanged.
std::string fingerprint_text(const std::string& fact);

/// Throws Error(kInput), with both facts, if the model that a checkpoint of these facts describes,
/// `described`, is not the network of its tensors. `place` names the checkpoint.
void require_model_fits(const Facts& facts, const model::Recipe& described,
                        const std::string& place);

struct FactChanges {
  std::string refused;              ///< sentence that forbids to go on, or ""
  std::vector<std::string> listed;  ///< "optimizer.lr = 0.01, now 0.02"
  bool other_precision = false;
  /// True if learning rate, clipping or data changed, which may end a streak.
  bool may_end_streak = false;
};
/// Returns the changes from a checkpoint's facts, `saved`, to those of this launch, `now`.
/// Architecture, tokenizer, classes and, unless `other_data` allows it, data must not change. Omits
/// ranks, stage, buckets, recompute, intervals and output.
FactChanges changes_since(const Facts& saved, const Facts& now, bool other_data);

}  // namespace zero::save
