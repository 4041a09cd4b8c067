#pragma once

#include <cstdint>

#include "zero/train/state_view.hpp"

namespace zero::train {

/// Fills the weights that a run starts from, and what completes them to fp32 masters. Element e of
/// parameter p is deviation * initial_normal(seed, p, e) rounded to fp32, 0 or 1 by its Init; rows
/// that pad the vocabulary and the gaps of a unit stay as they are (zero in a new arena). Each rank
/// fills the shard whose optimizer state it holds; the first gather completes whole weights.
/// Momentum and variance start as the zeros of a new arena. With `threads` threads.
void fill_initial_weights(const StateView& view, uint64_t seed, int threads);

}  // namespace zero::train
