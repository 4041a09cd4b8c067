#pragma once

#include "zero/graph/operations.hpp"
#include "zero/kernels/dropout.hpp"

namespace zero::graph {

/// The next use of dropout. Throws Error(kInternal) for what is no probability.
DropoutAttributes drawn(GraphBuilder& out, float probability);
kernels::DropoutSite site_of(const OpCall& call, const DropoutAttributes& attributes);

struct Addition {
  TensorId residual = kNone, y = kNone;
};
/// What `op` adds to x, where it is dropout_add() that drops nothing; else kNone. A product may add
/// it on its way out.
Addition addition_to(const Op& op, TensorId x);

}  // namespace zero::graph
