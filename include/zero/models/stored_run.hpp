#pragma once

#include <span>
#include <string>

#include "zero/config/run_config.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::models {

/// The settings that a trained model is evaluated under: those of the run that trained it where
/// they are known, else what the model's description says, and then `overrides` as on a command
/// line. The batch is one sample a rank, and the evaluation's micro-batch the run's: training on it
/// costs nothing, and the loss has the digits of the run's. Throws Error(kUsage) as read_config(),
/// or where no validation data are named; Error(kInput) where settings and model disagree.
RunConfig evaluation_config(const ModelTable& models, const StoredModel& model,
                            std::span<const std::string> overrides);

}  // namespace zero::models
