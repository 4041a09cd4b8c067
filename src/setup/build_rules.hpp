#pragma once
/// Rules between settings that only a plan, or the ranks, can judge. Each throws SettingsError.

#include "zero/plan/plan.hpp"
#include "zero/setup/build.hpp"

namespace zero::setup {

/// True if a run has validation data.
bool has_validation(const RunConfig& config);

/// Refuses a plan whose activations all stay. The backward pass of a shallow model, or with little
/// recompute, asks at once for all that might have left.
void refuse_unless_activations_leave(const RunConfig& config, const plan::Plan& plan);
/// Refuses activations that leave the device: they leave by the bytes of the longest samples.
void require_lengths_stay(const RunConfig& config);
/// Refuses an audit of ranks whose products may take other algorithms.
void require_same_products(const RunConfig& config, const World& world);
/// Refuses texts to score where no validation set makes evaluations due.
void require_validation(const RunConfig& config);
/// Refuses borrowed weights that no folder lends.
void require_lender(const RunConfig& config, const plan::Plan& plan);

}  // namespace zero::setup
