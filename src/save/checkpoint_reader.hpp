#pragma once

#include "zero/io/checkpoint/tensor_reader.hpp"
#include "zero/state/checkpoint_layout.hpp"

namespace zero::save {

/// Fills the optimizer state and the weights that the view's rank holds of them, by so many
/// threads, and notes in the ledger what it reads. Throws as TensorReader::read.
void load_state(const checkpoint::Store& store, const checkpoint::Manifest& manifest,
                const state::StateView& view, int threads, checkpoint::BlockLedger& ledger);

}  // namespace zero::save
