#pragma once

#include "src/save/checkpoint_agreement.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/checkpoint/tensor_reader.hpp"
#include "zero/launch/peers.hpp"
#include "zero/state/state_layout.hpp"
#include "zero/state/state_view.hpp"

namespace zero::save {

/// Fills the optimizer state and the weights that the view's rank holds, by `threads` threads, and
/// notes the reads in the ledger. Throws as TensorReader::read.
void load_state(const checkpoint::Store& store, const checkpoint::Manifest& manifest,
                const state::StateView& view, int threads, checkpoint::BlockLedger& ledger);

/// Checks every block of a checkpoint's files against its digest, each on one rank. With a `view`,
/// fills this rank's state by the same reads, with `threads` threads. The state is undefined after
/// a problem. Returns the first problem, on every rank. Collective.
Problem check_checkpoint(const launch::Peers& peers, int threads, const checkpoint::Store& store,
                         const checkpoint::Manifest& manifest, const state::StateView* view);

}  // namespace zero::save
