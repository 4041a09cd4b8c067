#pragma once

#include "zero/advise/placement.hpp"

namespace zero::advise {

/// Replaces train_micro_batch_size_per_gpu = "max" or "best" and recompute = "auto" by numbers and
/// words, and returns what was chosen and weighed. "max" is the largest micro-batch that fits.
/// "best" and "auto" give the plan that fits and has the most samples a second by the rates of
/// `machine`. Powers of two and the largest size are weighed, or all divisors of a rank's share of
/// train_batch_size. Each is tried with no, selective and full recompute. Homes are those of
/// "auto". Equal speeds go to the smaller micro-batch with less recompute. If nothing fits, it is
/// the smallest one with full recompute, because the plan's refusal then names a remedy. Equal
/// limits and machines give equal results. Throws SettingsError if train_batch_size and
/// gradient_accumulation_steps leave no micro-batch open.
Choices choose_batch(RunConfig& config, const setup::World& world, const MemoryLimit& limit,
                     const plan::Machine& machine);

}  // namespace zero::advise
