#include <bit>

#include "src/plan/passes.hpp"
#include "zero/plan/plan.hpp"
#include "zero/plan/verify.hpp"

namespace zero::plan {
namespace {

void check_request(const Request& r) {
  ZERO_REQUIRE(
      r.stage >= 0 && r.stage <= 3 && r.ranks >= 1 && r.micro_batches >= 1 && r.threads >= 1,
      "plan of stage ", r.stage, " on ", r.ranks, " ranks with ", r.micro_batches,
      " micro-batches and ", r.threads, " threads");
  if (r.reproducible && !std::has_single_bit(unsigned(r.ranks))) {
    refuse(Exit::kUsage, "numerics.reproducible = true on ", r.ranks,
           " ranks: sums are one balanced tree over ranks, so their number must be a power of two; "
           "start ",
           std::bit_floor(unsigned(r.ranks)), " ranks or set numerics.reproducible=false");
  }
  if (r.reduce_bucket_numel < r.ranks || r.gather_bucket_numel < r.ranks) {
    refuse(Exit::kUsage, "zero.reduce_bucket_size = ", r.reduce_bucket_numel,
           " and zero.allgather_bucket_size = ", r.gather_bucket_numel,
           ": a bucket needs at least one element of each of ", r.ranks, " ranks");
  }
}

void check_safe(const Plan& plan) {
  const std::vector<std::string> findings = verify(plan);
  if (findings.empty()) return;
  std::string all;
  for (const std::string& finding : findings) all += "\n  " + finding;
  refuse(Exit::kInternal, "the plan is unsafe:", all);
}

}  // namespace

Plan compile(const Request& request, const graph::Graph& training, const graph::Graph& evaluation) {
  check_request(request);
  Plan plan{.request = request, .graphs = {training, evaluation}};
  plan.units = lay_out_units(training, request.ranks);
  place_states(plan);
  write_step(plan);
  write_finish(plan);
  write_evaluate(plan);
  for (Body& body : plan.bodies) number_lanes(body);
  pack(plan);
  for (Body& body : plan.bodies) place_waits(plan, body);
  check_safe(plan);
  return plan;
}

}  // namespace zero::plan
