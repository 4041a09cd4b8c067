#include "zero/compile/compile.hpp"

#include <bit>
#include <utility>

#include "src/compile/passes.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {
namespace {

void check_bucket(const char* key, int64_t numel, int ranks) {
  if (numel >= ranks) return;
  refuse_settings({key}, "a bucket of ", counted(numel, "element"), " has not one for each of ",
                  counted(ranks, "rank"), "; write ", ranks, " or more");
}

void check_request(const Request& r) {
  ZERO_REQUIRE(
      r.stage >= 0 && r.stage <= 3 && r.ranks >= 1 && r.micro_batches >= 1 && r.threads >= 1,
      "plan of stage ", r.stage, " on ", r.ranks, " ranks with ", r.micro_batches,
      " micro-batches and ", r.threads, " threads");
  if (r.reproducible && !std::has_single_bit(unsigned(r.ranks))) {
    refuse_settings({"numerics.reproducible"}, "sums are one balanced tree over ranks, so their ",
                    "number must be a power of two and not ", r.ranks, "; start ",
                    std::bit_floor(unsigned(r.ranks)),
                    " ranks or write numerics.reproducible = false");
  }
  const bool may_round = r.compute == Dtype::bf16 && !r.reproducible && !r.gradient_fp32;
  ZERO_REQUIRE(may_round || !r.wire_bf16, "sums are rounded to bf16 for their way in a plan of ",
               name_of(r.compute), r.reproducible ? ", which is reproducible" : "",
               r.gradient_fp32 ? ", whose gradients stay unrounded" : "");
  check_bucket("zero.reduce_bucket_size", r.reduce_bucket_numel, r.ranks);
  check_bucket("zero.allgather_bucket_size", r.gather_bucket_numel, r.ranks);
}

/// Homes mean something only for what is sharded: on every rank the same state, or the same
/// weights, would be moved.
void check_homes(const Request& r) {
  if (r.optimizer_home != Tier::device && r.stage == 0) {
    refuse(Exit::kUsage,
           "zero.offload_optimizer.device at zero.stage = 0: every rank would run the ",
           "whole optimizer on the host; write zero.stage = 1, 2 or 3");
  }
  if (r.weight_home != Tier::device && r.stage != 3) {
    refuse(Exit::kUsage, "zero.offload_param.device at zero.stage = ", r.stage,
           ": only stage 3 fetches parameters; write zero.stage = 3");
  }
  ZERO_REQUIRE(r.device_update_share >= 0 && r.device_update_share <= 1, "a share of ",
               r.device_update_share, " is updated on the device: 0 to 1");
  ZERO_REQUIRE(r.staged_units >= 1 && r.optimizer_share >= 0 && r.optimizer_share <= 1,
               r.staged_units, " staged units and a share of ", r.optimizer_share,
               ": at least 1, and 0 to 1");
  ZERO_REQUIRE(r.staged_activations >= 1, "activations of ", r.staged_activations,
               " blocks on their way: at least 1");
}

void check_safe(const Plan& plan) {
  const std::vector<std::string> findings = verify(plan);
  if (findings.empty()) return;
  std::string all;
  for (const std::string& finding : findings) all += "\n  " + finding;
  refuse(Exit::kInternal, "the plan is unsafe:", all);
}

/// The passes that follow those that write bodies.
void finish(Plan& plan) {
  for (Body& body : plan.bodies) number_lanes(body);
  pack(plan);
  for (Body& body : plan.bodies) place_waits(plan, body);
}

/// Bodies that share buffers must mean the same by them.
void check_same_state(const graph::Graph& a, const graph::Graph& b) {
  const auto shapes = [](const graph::Graph& graph) {
    std::vector<Shape> list;
    for (const graph::Parameter& parameter : graph.parameters)
      list.push_back(graph[parameter.tensor].shape);
    for (const graph::Tensor& tensor : graph.tensors)
      if (tensor.role == graph::Role::cache) list.push_back(tensor.shape);
    return list;
  };
  ZERO_REQUIRE(shapes(a) == shapes(b),
               "the graphs of a token and of a chunk differ in parameters "
               "or caches");
}

}  // namespace

Plan compile_unproved(const Request& request, const graph::Graph& training,
                      const graph::Graph& evaluation) {
  check_request(request);
  check_homes(request);
  Plan plan{.request = request, .graphs = {training, evaluation}};
  plan.units = lay_out_units(training, request.ranks);
  place_states(plan);
  place_copies(plan);
  write_step(plan);
  write_finish(plan);
  write_evaluate(plan);
  write_read_ahead(plan);
  finish(plan);
  return plan;
}

Plan compile(const Request& request, const graph::Graph& training, const graph::Graph& evaluation) {
  Plan plan = compile_unproved(request, training, evaluation);
  check_safe(plan);
  return plan;
}

void add_forms(Plan& plan, std::array<std::vector<graph::Graph>, 2> shorter) {
  ZERO_REQUIRE(plan.request.activation_home == Tier::device,
               "activations that leave the device do so by the bytes of the longest form");
  plan.shorter = std::move(shorter);
  check_safe(plan);
}

Plan compile_decode(const Request& request, const graph::Graph& token, const graph::Graph& chunk) {
  check_request(request);
  check_homes(request);
  ZERO_REQUIRE(request.stage == 3 || (request.stage == 0 && request.ranks == 1),
               "texts are continued on ", request.ranks, " ranks at stage ", request.stage,
               ": by one rank at stage 0, or by any at stage 3");
  check_same_state(token, chunk);
  Plan plan{.request = request, .graphs = {token, chunk}};
  plan.units = lay_out_units(token, request.ranks);
  place_decode_states(plan);
  write_decode(plan);
  write_prefill(plan);
  finish(plan);
  check_safe(plan);
  return plan;
}

}  // namespace zero::plan
