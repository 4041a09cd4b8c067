#include "src/graph/ops/ops.hpp"

namespace zero::graph::ops {

// Only differentiate() makes additions, so they need no gradient of their own.
const OpInfo kAdd{"add", no_flops, no_scratch, nullptr};

}  // namespace zero::graph::ops
