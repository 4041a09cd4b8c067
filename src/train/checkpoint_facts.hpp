#pragma once
/// What a checkpoint says in words: what a resume restores beside its tensors, and what it
/// compares.

#include <string>
#include <vector>

#include "zero/kernels/step_state.hpp"
#include "zero/train/checkpointer.hpp"

namespace zero::train {

/// Adds every member of the state as "state.loss_scale" and so on, floats in hexadecimal.
void add_state(const kernels::StepState& state, Facts& facts);

/// The reverse. Throws Error(kInput) naming the fact that is missing or no number.
kernels::StepState state_in(const Facts& facts);

struct FactChanges {
  std::string refused;              ///< what forbids to go on, as a sentence; "" if nothing does
  std::vector<std::string> listed;  ///< "optimizer.lr = 0.01, now 0.02"
  bool other_precision = false;
};
/// What is different from when a checkpoint was written. Architecture, tokenizer and data may not
/// be; ranks, stage, buckets, recompute, intervals and output need no word.
FactChanges changes_since(const Facts& saved, const Facts& now);

}  // namespace zero::train
