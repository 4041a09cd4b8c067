#pragma once

#include <cstdint>
#include <vector>

#include "zero/graph/graph.hpp"
#include "zero/plan/request.hpp"

namespace zero::plan {

/// How gradients rest between the passes over micro-batches and the optimizer, decided once from
/// the request. A gradient of one micro-batch has the compute dtype; a sum of several has fp32.
struct GradientLayout {
  Dtype element;        ///< of the persistent gradient that the optimizer reads
  bool full;            ///< it covers the whole unit, else this rank's shard
  bool direct;          ///< backward writes into it; else into a bucket of one micro-batch
  bool counter;         ///< reproducible sums: a binary counter of fp32 shards
  bool local_sum;       ///< micro-batches add locally; ranks reduce after the last (stages 0 and 1)
  bool in_products;     ///< local sums: products add gradients of weights to them themselves
  bool gather_sums;     ///< stage 0: finished shards are gathered to every rank
  bool round_gradient;  ///< the optimizer and the norm round fp32 to the compute dtype
  bool wire_bf16;       ///< local sums are rounded to bf16 for their way between ranks
};

GradientLayout gradient_layout(const Request& request);

/// [parameters] whether one op alone writes the gradient, and can add it to an fp32 sum.
std::vector<bool> summed_by_their_op(const graph::Graph& graph);

/// What a finished gradient is where the optimizer runs. It crosses to the host rounded.
struct RestingGradient {
  Dtype element;
  bool full;            ///< the whole unit, else this rank's shard
  bool round_gradient;  ///< the optimizer still has to round it
};
RestingGradient resting_gradient(const Request& request, Tier site);

}  // namespace zero::plan
