#include "src/compile/gradient_layout.hpp"

#include "zero/graph/operation.hpp"

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
  layout.round_gradient = layout.element != request.compute && !request.gradient_fp32;
  layout.wire_bf16 = layout.local_sum && !alone && request.wire_bf16;
  return layout;
}

std::vector<bool> summed_by_their_op(const graph::Graph& graph) {
  const std::vector<int32_t> parameter_of = graph::parameter_index(graph);
  std::vector<int> writers(graph.parameters.size());
  std::vector<bool> summed(graph.parameters.size());
  for (const graph::Op& op : graph.ops) {
    for (graph::TensorId output : op.outputs) {
      if (graph[output].role != graph::Role::gradient) continue;
      const size_t parameter = size_t(parameter_of[size_t(graph[output].parameter)]);
      const bool alone = writers[parameter]++ == 0;
      summed[parameter] = alone && output == graph::sum_output(op);
    }
  }
  return summed;
}

RestingGradient resting_gradient(const Request& request, Tier site) {
  const GradientLayout layout = gradient_layout(request);
  if (site == Tier::device) return {layout.element, layout.full, layout.round_gradient};
  return {.element = layout.round_gradient ? request.compute : layout.element,
          .full = false,
          .round_gradient = false};
}

}  // namespace zero::plan
