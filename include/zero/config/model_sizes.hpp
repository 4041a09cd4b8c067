#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "zero/config/run_config.hpp"

namespace zero {

/// The numbers of a GPT-2. Sources: the public checkpoints; DeepSpeed's ZeRO tutorial for the last
/// two, whose vocabulary Megatron pads to 50304.
struct ModelSize {
  std::string_view name;
  int64_t layers, width, heads, vocab_size, max_positions;
};

/// Every named size, smallest first.
std::span<const ModelSize> model_sizes();

/// The size called `name`; nullptr if there is none.
const ModelSize* find_model_size(std::string_view name);

/// The model that a checked configuration asks for: the numbers of its name, or its own numbers
/// with vocabulary 256 and as many positions as data.sequence_length where they say auto.
ModelSize model_size(const RunConfig& config);

}  // namespace zero
