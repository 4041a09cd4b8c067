#pragma once

#include <cstdint>

#include "zero/io/data/dataset.hpp"
#include "zero/train/engine.hpp"

namespace zero::train {

struct Evaluation {
  int64_t step = 0;  ///< the weights are those after this step's update
  double loss = 0;   ///< nats a counted token; NaN if any is not finite
  int64_t tokens = 0;
  double seconds = 0;
};

/// The loss on a whole validation set. Micro-batch j N + r of it runs on rank r; what a rank lacks
/// at the end counts nothing. The sum is exact, so rank count and order change no digit. The engine
/// has no update pending. Collective.
Evaluation evaluate(Engine& engine, const Dataset& validation, int rank,
                    const kernels::StepInputs& inputs);

}  // namespace zero::train
