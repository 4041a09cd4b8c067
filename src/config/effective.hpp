#pragma once

#include <string>
#include <string_view>

#include "zero/config/run_config.hpp"

namespace zero {

inline constexpr std::string_view kNumberCheckpoints =
    "activation_checkpointing.number_checkpoints";

/// What activation_checkpointing.recompute keeps between the passes, in words with its counts:
/// "recompute = \"full\" keeps the inputs of 12 blocks". Without counts where the model's layers
/// are not known.
std::string kept_activations(const RunConfig& config);

}  // namespace zero
