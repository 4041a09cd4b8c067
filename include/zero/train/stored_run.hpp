#pragma once

#include <span>
#include <string>

#include "zero/config/run_config.hpp"
#include "zero/train/model_folder.hpp"
#include "zero/train/state_view.hpp"

namespace zero::train {

/// The settings that a trained model is evaluated under: those of effective.toml beside the folder
/// `model/` of a run, else what the model's description says, and then `overrides` as on a command
/// line. The batch is one sample a rank, and the evaluation's micro-batch the run's: training on it
/// costs nothing, and the loss has the digits of the run's. Throws Error(kUsage) as read_config(),
/// or where no validation data are named; Error(kInput) where settings and model disagree.
RunConfig evaluation_config(const ModelFolder& folder, std::span<const std::string> overrides);

/// Fills the weights that this rank holds of a plan of the same model.
void load_weights(const ModelFolder& folder, const StateView& view);

}  // namespace zero::train
