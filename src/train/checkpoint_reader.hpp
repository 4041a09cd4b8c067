#pragma once

#include "src/train/checkpoint_layout.hpp"
#include "zero/io/checkpoint/tensor_reader.hpp"

namespace zero::train {

/// Fills the optimizer state and the weights that the view's rank holds of them. Throws as
/// TensorReader::read.
void load_state(checkpoint::TensorReader& reader, const StateView& view);

}  // namespace zero::train
