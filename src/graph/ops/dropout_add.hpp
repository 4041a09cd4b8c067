#pragma once

#include "zero/graph/graph.hpp"

namespace zero::graph {

struct Addition {
  TensorId residual = kNone, y = kNone;
};
/// What `op` adds to x, where it is dropout_add() that drops nothing; else kNone. A product may add
/// it on its way out.
Addition addition_to(const Op& op, TensorId x);

}  // namespace zero::graph
