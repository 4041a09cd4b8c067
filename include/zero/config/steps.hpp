#pragma once

#include <cstdint>
#include <string>

#include "zero/config/run_config.hpp"

namespace zero {

/// Of a training: each has its learning rate in a table.
inline constexpr int64_t kMostRunSteps = 100'000'000;

/// Fills in run.steps of a run that says run.epochs instead, once its data is known: the fewest
/// steps that visit every one of `samples` epochs times, ceil(epochs x samples /
/// train_batch_size). Every step has a whole batch: the last one runs on into the next epoch.
/// Leaves a run alone that says its steps. Returns a warning where the warm-up outlasts the steps
/// found, else "". Throws SettingsError if run.stop_at or
/// scheduler.total_num_steps does not fit the steps found.
std::string resolve_steps(RunConfig& config, int64_t samples, int64_t train_batch_size);

}  // namespace zero
