#pragma once

#include "zero/config/run_config.hpp"

namespace zero {

/// Words of activation_checkpointing.recompute, by Recompute::Mode. "" for a list of layers.
inline constexpr const char* kRecomputeWords[] = {"none", "selective", "full", "", "auto"};

}  // namespace zero
