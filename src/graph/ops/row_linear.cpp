#include "src/graph/ops/ops.hpp"
#include "zero/graph/extents.hpp"

namespace zero::graph::ops {
namespace {

double flops(const Graph& graph, const Op& op) {
  const kernels::RowProductExtents extents = row_product_extents(graph, op);
  return 2.0 * double(extents.rows) * double(extents.in) * double(extents.out);
}

int64_t scratch(const Graph& graph, const Op& op, int) {
  return kernels::row_product_scratch_numel(row_product_extents(graph, op)) *
         int64_t(sizeof(float));
}

}  // namespace

const OpInfo kRowLinear{"row_linear", flops, scratch, nullptr};

}  // namespace zero::graph::ops
