#pragma once

#include <cstdint>

#include "zero/io/data/dataset.hpp"
#include "zero/state/engine.hpp"

namespace zero::train {

/// The loss on a whole validation set. Micro-batch j N + r of it runs on rank r; what a rank lacks
/// at the end counts nothing. The sum is exact, so rank count and order change no digit. The engine
/// has no update pending. Collective.
state::Evaluation evaluate(state::Engine& engine, const Dataset& validation, int rank,
                           const kernels::StepInputs& inputs);

}  // namespace zero::train
