#include "src/plan/gradient_layout.hpp"

namespace zero::plan {

GradientLayout gradient_layout(const Request& request) {
  const bool alone = request.ranks == 1;
  const bool several = request.micro_batches > 1;
  GradientLayout layout{};
  layout.counter = several && request.reproducible;
  layout.gather_sums = !alone && request.stage == 0;
  // A counter holds shards only, so at stage 1 nothing needs the whole gradient at rest.
  layout.full = alone || request.stage == 0 || (request.stage == 1 && !layout.counter);
  const bool rounded_once = layout.counter && layout.gather_sums && !request.gradient_fp32;
  const bool one_micro_batch = !several && (alone || !request.gradient_fp32);
  layout.element = one_micro_batch || rounded_once ? request.compute : Dtype::f32;
  layout.direct = !several && layout.full && layout.element == request.compute;
  layout.local_sum = several && !layout.counter && layout.full;
  layout.in_products = layout.local_sum && request.sums_in_products;
  layout.round = layout.element != request.compute && !request.gradient_fp32;
  layout.wire_bf16 = layout.local_sum && !alone && request.wire_bf16;
  return layout;
}

bool adds_in_product(const graph::Graph& graph, const graph::Op& op) {
  const bool adds = op.kind == graph::OpKind::linear_weight_grad ||
                    op.kind == graph::OpKind::linear_parameter_grad;
  return adds && graph[op.outputs[0]].role == graph::Role::gradient;
}

RestingGradient resting_gradient(const Request& request, Tier site) {
  const GradientLayout layout = gradient_layout(request);
  if (site == Tier::device) return {layout.element, layout.full, layout.round};
  return {
      .element = layout.round ? request.compute : layout.element, .full = false, .round = false};
}

}  // namespace zero::plan
