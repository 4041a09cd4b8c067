#pragma once

#include "src/save/checkpoint_agreement.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/checkpoint/tensor_reader.hpp"
#include "zero/launch/peers.hpp"
#include "zero/state/checkpoint_layout.hpp"
#include "zero/state/state_view.hpp"

namespace zero::save {

/// Fills the optimizer state and the weights that the view's rank holds of them, by so many
/// threads, and notes in the ledger what it reads. Throws as TensorReader::read.
void load_state(const checkpoint::Store& store, const checkpoint::Manifest& manifest,
                const state::StateView& view, int threads, checkpoint::BlockLedger& ledger);

/// Holds every block of a checkpoint's files against its digests, each read by one of the ranks.
/// With a `view` this rank fills its state by the same reads, with so many threads: what it holds
/// when something is wrong is of no use. Returns the first problem, on every rank the same.
/// Collective.
Problem check_checkpoint(const launch::Peers& peers, int threads, const checkpoint::Store& store,
                         const checkpoint::Manifest& manifest, const state::StateView* view);

}  // namespace zero::save
