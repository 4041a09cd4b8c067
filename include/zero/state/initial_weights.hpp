#pragma once

#include <cstdint>

#include "zero/state/state_view.hpp"

namespace zero::state {

/// Fills the weights that a run starts from, and what completes them to fp32 masters. Element e of
/// parameter p is deviation * initial_normal(seed, p, e) rounded to fp32, 0 or 1 by its Init; rows
/// that pad the vocabulary and the gaps of a unit stay as they are (zero in a new arena). Each rank
/// fills the shard whose optimizer state it holds; the first gather completes whole weights.
/// The optimizer's states as fill_initial_states() has them. With `threads` threads.
void fill_initial_weights(const StateView& view, uint64_t seed, int threads);

/// Fills the states of the optimizer that begin with another number than zero, as a new arena has
/// it, in what the rank holds of them. Gaps stay as they are.
void fill_initial_states(const StateView& view);

}  // namespace zero::state
