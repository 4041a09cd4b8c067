#pragma once

#include <cstdint>

#include "zero/config/run_config.hpp"

namespace zero {

/// Samples of one optimizer step: train = micro x accumulation x ranks.
struct BatchSizes {
  int64_t train, micro, accumulation;
};

/// Infers what is "auto" from what is given, as DeepSpeed does: the third from any two, and
/// accumulation 1 where one is given. Throws SettingsError with the equation and a setting that
/// works if nothing is given or the numbers do not divide.
BatchSizes resolve_batch(const RunConfig& config, int64_t ranks);

}  // namespace zero
