#include "tests/support/tiny_plans.hpp"

#include <algorithm>

#include "tests/support/forward_of.hpp"
#include "zero/base/error.hpp"
#include "zero/base/philox.hpp"
#include "zero/compile/compile.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/model/recipe.hpp"

namespace zero::testing {
namespace {

/// Draws small numbers, one after another, from one seed.
class Draw {
 public:
  explicit Draw(uint64_t seed) : seed_(seed) {}
  int below(int n) { return int(philox({{count_++, 0, 0, 0}}, seed_).word[0] % uint32_t(n)); }
  template <class T, size_t n>
  T one_of(const T (&choices)[n]) {
    return choices[below(int(n))];
  }

 private:
  uint64_t seed_;
  uint32_t count_ = 0;
};

graph::Graph forward_of(const TinyModel& model, model::Purpose purpose, Dtype compute) {
  if (model.other) {
    return model::graph_of({.model = *model.other}, purpose,
                           {.micro = model.micro,
                            .compute = compute,
                            .head_unit = model.head_unit,
                            .packed = model.packed});
  }
  return graph::pad_heads(
      model::forward_of(
          model.gpt2,
          {.micro = model.micro, .compute = compute, .training = purpose == model::Purpose::train}),
      model.head_unit);
}

}  // namespace

graph::Graph tiny_training_graph(const TinyModel& model, Dtype compute) {
  const graph::Graph forward = forward_of(model, model::Purpose::train, compute);
  std::vector<graph::Recompute> policy(forward.blocks.size(), model.recompute);
  ZERO_REQUIRE(model.blocks.size() <= policy.size(), model.blocks.size(), " choices of recompute");
  std::copy(model.blocks.begin(), model.blocks.end(), policy.begin());
  const graph::Graph graph = graph::recompute(graph::differentiate(forward), policy);
  return model.fused ? graph::fuse(graph) : graph;
}

graph::Graph tiny_evaluation_graph(const TinyModel& model, Dtype compute) {
  if (!model.evaluates) return {};
  const graph::Graph graph = forward_of(model, model::Purpose::evaluate, compute);
  return model.fused ? graph::fuse(graph) : graph;
}

plan::Plan tiny_plan(const plan::Request& request, const TinyModel& model) {
  return plan::compile(request, tiny_training_graph(model, request.compute),
                       tiny_evaluation_graph(model, request.compute));
}

bool moves_activations(const plan::Plan& plan) {
  return std::any_of(plan.buffers.begin(), plan.buffers.end(), [](const plan::Buffer& buffer) {
    return buffer.use == plan::Use::activations && buffer.tier != plan::Tier::device;
  });
}

plan::Request random_request(uint64_t seed) {
  Draw draw(seed);
  plan::Request request;
  request.stage = draw.below(4);
  request.ranks = draw.one_of({1, 2, 2, 4});
  request.micro_batches = 1 + draw.below(6);
  request.most_written = 4;
  request.compute = draw.one_of({Dtype::f32, Dtype::bf16, Dtype::f16});
  request.optimizer = form_of(
      {.type = draw.one_of({OptimizerType::AdamW, OptimizerType::AdamW, OptimizerType::LAMB})});
  request.weight_decay = 0.1f;
  request.reproducible = draw.below(2) == 1;
  request.gradient_fp32 = draw.below(4) == 0;
  request.overlap = draw.below(4) != 0;
  request.reduce_bucket_numel = draw.one_of<int64_t>({500'000'000, 6000, 1000});
  request.gather_bucket_numel = draw.one_of<int64_t>({500'000'000, 6000, 1000});
  request.prefetch_numel = draw.one_of<int64_t>({0, 1, 10'000, 500'000'000});
  request.keep_below_numel = draw.one_of<int64_t>({0, 5000});
  request.keep_distance_numel = draw.one_of<int64_t>({0, 10'000, 1'000'000'000});
  request.live_numel = draw.one_of<int64_t>({15'000, 1'000'000'000});
  request.sums_in_products = draw.below(2) == 1;
  const bool may_round = request.compute == Dtype::bf16 && !request.reproducible;
  request.wire_bf16 = may_round && !request.gradient_fp32 && seed % 2 == 0;
  request.audits = seed % 3 == 0;
  if (request.stage == 3 && request.ranks == 4 && seed % 2 == 0) request.group_ranks = 2;
  return request;
}

plan::Request random_tiered_request(uint64_t seed) {
  using plan::Tier;
  Draw draw(seed + 0x7f4a7c159e3779b9u);
  plan::Request request = random_request(seed);
  if (request.stage == 0) request.stage = 3;
  if (request.stage == 3 && request.ranks == 4 && seed % 4 < 3) request.group_ranks = 2;
  request.optimizer_home = draw.one_of({Tier::device, Tier::host, Tier::nvme});
  if (request.stage == 3) request.weight_home = draw.one_of({Tier::device, Tier::host, Tier::nvme});
  const bool moves = request.optimizer_home != Tier::device || request.weight_home != Tier::device;
  if (!moves) request.optimizer_home = Tier::host;
  if (request.weight_home == Tier::nvme) request.group_ranks = 0;
  request.optimizer_share = draw.one_of({1.0, 1.0, 0.5});
  request.staged_units = 1 + draw.below(4);
  request.activation_home = draw.one_of({Tier::device, Tier::host, Tier::nvme});
  request.staged_activations = 1 + draw.below(2);
  request.device_update_share = draw.one_of({0.0, 0.0, 0.5, 1.0});
  const bool may_speculate = request.optimizer_home == Tier::host &&
                             request.weight_home == Tier::device &&
                             !request.optimizer.needs_norms();
  if (may_speculate) request.speculated_share = draw.one_of({0.0, 0.5, 1.0, 1.0});
  return request;
}

TinyModel random_model(uint64_t seed) {
  Draw draw(seed + 0x9e3779b97f4a7c15u);
  TinyModel model;
  model.gpt2.layers = 1 + draw.below(3);
  model.gpt2.dropout = draw.one_of({0.0f, 0.1f});
  model.micro.samples = 1 + draw.below(2);
  model.recompute =
      draw.one_of({graph::Recompute::none, graph::Recompute::selective, graph::Recompute::full});
  model.evaluates = draw.below(3) != 0;
  model.fused = draw.below(3) == 0;
  model.head_unit = draw.one_of({1, 1, 12});
  return model;
}

}  // namespace zero::testing
