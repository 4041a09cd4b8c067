#include "src/graph/ops/ops.hpp"
#include "zero/graph/extents.hpp"

namespace zero::graph::ops {
namespace {

/// Scores and the sum of values with the cache full; how full it is, only the host knows.
double flops(const Graph& graph, const Op& op) {
  const kernels::CachedAttentionExtents extents = cached_attention_extents(graph, op);
  return 4.0 * double(extents.rows * extents.heads) * double(extents.head_width) *
         double(extents.columns);
}

int64_t scratch(const Graph& graph, const Op& op, int threads) {
  return kernels::cached_attention_scratch_bytes(cached_attention_extents(graph, op), threads);
}

}  // namespace

const OpInfo kCachedAttention{"cached_attention", flops, scratch, nullptr};

}  // namespace zero::graph::ops
