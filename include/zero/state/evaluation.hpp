#pragma once

#include <cstdint>

namespace zero::state {

/// What a validation set says of the weights.
struct Evaluation {
  int64_t step = 0;  ///< the weights are those after this step's update
  double loss = 0;   ///< nats a counted token; NaN if any is not finite
  int64_t tokens = 0;
  double seconds = 0;
};

}  // namespace zero::state
