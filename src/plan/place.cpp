#include "src/plan/gradient_layout.hpp"
#include "src/plan/passes.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::plan {
namespace {

int32_t keep(Plan& plan, const std::string& name, Use use, int64_t bytes) {
  plan.buffers.push_back({.name = name, .bytes = bytes, .use = use, .persistent = true});
  return int32_t(plan.buffers.size()) - 1;
}

/// What completes a weight to its master: bf16 an int16, fp16 an fp32, fp32 nothing.
int64_t rest_bytes(Dtype compute) {
  return compute == Dtype::bf16 ? 2 : compute == Dtype::f16 ? 4 : 0;
}

int32_t keep_weight(Plan& plan, const Unit& unit, int64_t numel) {
  return keep(plan, unit.name + ".weight", Use::weights,
              numel * int64_t(bytes_of(plan.request.compute)));
}

void place_unit(Plan& plan, Unit& unit) {
  const Request& request = plan.request;
  const GradientLayout gradient = gradient_layout(request);
  unit.optimizer_sharded = request.stage >= 1 && request.ranks > 1;
  unit.weight_sharded = request.stage == 3 && request.ranks > 1;
  const int64_t weights = unit.weight_sharded ? unit.shard_numel : unit.numel;
  const int64_t states = unit.optimizer_sharded ? unit.shard_numel : unit.numel;
  const int64_t gradients = gradient.full ? unit.numel : unit.shard_numel;
  unit.weight = keep_weight(plan, unit, weights);
  if (const int64_t rest = rest_bytes(request.compute); rest > 0) {
    unit.rest = keep(plan, unit.name + ".rest", Use::optimizer, states * rest);
  }
  unit.momentum = keep(plan, unit.name + ".momentum", Use::optimizer, states * 4);
  unit.variance = keep(plan, unit.name + ".variance", Use::optimizer, states * 4);
  unit.gradient = keep(plan, unit.name + ".gradient", Use::gradients,
                       gradients * int64_t(bytes_of(gradient.element)));
}

void place_evaluation(Plan& plan) {
  const graph::Graph& graph = plan.graphs[1];
  plan.evaluation_inputs =
      keep(plan, "evaluation.inputs", Use::step_data, sizeof(kernels::StepInputs));
  plan.evaluation_sums = keep(plan, "evaluation.sums", Use::step_data, sizeof(kernels::StepSums));
  plan.evaluation_tokens =
      keep(plan, "evaluation.tokens", Use::step_data, graph[graph.tokens].bytes());
  plan.evaluation_targets =
      keep(plan, "evaluation.targets", Use::step_data, graph[graph.targets].bytes());
}

}  // namespace

void place_decode_states(Plan& plan) {
  const graph::Graph &token = plan.graphs[0], &chunk = plan.graphs[1];
  plan.decode_inputs = keep(plan, "decode.inputs", Use::step_data, sizeof(kernels::DecodeInputs));
  plan.decode_token = keep(plan, "decode.token", Use::step_data, token[token.tokens].bytes());
  plan.prefill_tokens = keep(plan, "prefill.tokens", Use::step_data, chunk[chunk.tokens].bytes());
  plan.logits = keep(plan, "logits", Use::step_data, token[token.logits].bytes());
  for (const graph::Tensor& tensor : token.tensors) {
    if (tensor.role != graph::Role::cache) continue;
    plan.caches.push_back(keep(plan, tensor.name, Use::cache, tensor.bytes()));
  }
  for (Unit& unit : plan.units) unit.weight = keep_weight(plan, unit, unit.numel);
}

void place_states(Plan& plan) {
  const graph::Graph& graph = plan.graphs[0];
  plan.step_inputs = keep(plan, "step.inputs", Use::step_data, sizeof(kernels::StepInputs));
  plan.step_state = keep(plan, "step.state", Use::step_data, sizeof(kernels::StepState));
  plan.step_sums = keep(plan, "step.sums", Use::step_data, sizeof(kernels::StepSums));
  for (int micro = 0; micro < plan.request.micro_batches; ++micro) {
    const std::string number = std::to_string(micro);
    plan.tokens.push_back(
        keep(plan, "tokens." + number, Use::step_data, graph[graph.tokens].bytes()));
    plan.targets.push_back(
        keep(plan, "targets." + number, Use::step_data, graph[graph.targets].bytes()));
  }
  if (!plan.graphs[1].ops.empty()) place_evaluation(plan);
  for (Unit& unit : plan.units) place_unit(plan, unit);
}

}  // namespace zero::plan
