#pragma once

#include "zero/advise/placement.hpp"

namespace zero::advise {

/// Replaces train_micro_batch_size_per_gpu = "max" or "best" and recompute = "auto" by numbers and
/// words, and returns what was chosen and weighed. "max" is the largest micro-batch that fits.
/// "best" and "auto" give the plan with the most samples a second by the rates of `machine`, among
/// plans that fit. Powers of two and the largest size are weighed, or all divisors of a rank's
/// share of train_batch_size, with no, selective and full recompute and the homes that "auto" comes
/// to. Equal speeds go to the smaller micro-batch with less recompute. If nothing fits, the
/// smallest micro-batch with full recompute is chosen, because the plan's refusal then names a
/// remedy. Ranks with equal limits and machines get equal results, because it only compiles. Throws
/// SettingsError if train_batch_size and gradient_accumulation_steps leave no micro-batch open.
Choices choose_batch(RunConfig& config, const setup::World& world, const MemoryLimit& limit,
                     const plan::Machine& machine);

}  // namespace zero::advise
