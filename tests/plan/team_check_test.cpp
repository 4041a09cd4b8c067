// Ranks: 1
// The proof that ranks of groups exchange and sum what they should.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "src/plan/verify_parts.hpp"
#include "tests/support/tiny_plans.hpp"

namespace zero::plan {
namespace {

/// Four ranks in two groups of two, so a team has as many ranks as another. Pieces are short.
Request in_groups(bool reproducible = false) {
  return {.stage = 3,
          .ranks = 4,
          .group_ranks = 2,
          .micro_batches = 2,
          .compute = Dtype::bf16,
          .reproducible = reproducible,
          .reduce_bucket_numel = 4096,
          .gather_bucket_numel = 4096};
}

std::vector<std::string> found_in(const Plan& plan) {
  Findings findings(10);
  for (int body = 0; body < kBodies; ++body) check_teams(plan, BodyId(body), findings);
  return findings.take();
}

using Ops = std::vector<PlanOp>;

Ops::iterator find(Ops& ops, Kind kind, Team team) {
  return std::ranges::find_if(ops,
                              [&](const PlanOp& op) { return op.kind == kind && op.team == team; });
}

/// A fault planted in the ops of a step.
struct Fault {
  const char* name;
  std::function<void(Ops&)> plant;
};

void set_team(Ops& ops, Kind kind, Team from, Team to) { find(ops, kind, from)->team = to; }

void drop(Ops& ops, Kind kind, Team team) {
  std::erase_if(ops, [&](const PlanOp& op) { return op.kind == kind && op.team == team; });
}

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = {
      {"a unit is gathered across groups",
       [](Ops& ops) { set_team(ops, Kind::all_gather, Team::group, Team::across); }},
      {"a unit is gathered over all ranks",
       [](Ops& ops) { set_team(ops, Kind::all_gather, Team::group, Team::all); }},
      {"an update is joined within a group",
       [](Ops& ops) { set_team(ops, Kind::all_gather, Team::across, Team::group); }},
      {"an update is not joined", [](Ops& ops) { drop(ops, Kind::all_gather, Team::across); }},
      {"a piece of an update is not joined",
       [](Ops& ops) { ops.erase(find(ops, Kind::all_gather, Team::across) + 1); }},
      {"a micro-batch is summed across groups",
       [](Ops& ops) { set_team(ops, Kind::reduce_scatter, Team::group, Team::across); }},
      {"a sum crosses within a group",
       [](Ops& ops) { set_team(ops, Kind::reduce_scatter, Team::across, Team::group); }},
      {"a sum does not cross", [](Ops& ops) { drop(ops, Kind::reduce_scatter, Team::across); }},
      {"a bucket crosses instead of the group's sum",
       [](Ops& ops) {
         const auto bucket = find(ops, Kind::reduce_scatter, Team::group)->operands[kSource];
         find(ops, Kind::reduce_scatter, Team::across)->operands[kSource] = bucket;
       }},
      {"the norm takes the sum of a group",
       [](Ops& ops) {
         const auto sum = find(ops, Kind::reduce_scatter, Team::across)->operands[kSource];
         std::ranges::find(ops, Kind::sum_of_squares, &PlanOp::kind)->operands[kSource] = sum;
       }},
      {"an update writes the shard of its rank's number",
       [](Ops& ops) {
         std::ranges::find(ops, Kind::update, &PlanOp::kind)->operands[kWeightOperand].team =
             Team::all;
       }},
      {"words are summed within a group",
       [](Ops& ops) { set_team(ops, Kind::all_reduce, Team::all, Team::group); }},
  };
  return all;
}

TEST(TeamCheck, FindsNothingInPlansOfGroups) {
  for (const bool reproducible : {false, true}) {
    for (const int micro_batches : {1, 2, 3, 40}) {
      Request request = in_groups(reproducible);
      request.micro_batches = micro_batches;
      EXPECT_EQ(found_in(testing::tiny_plan(request)), std::vector<std::string>{})
          << micro_batches << " micro-batches, " << reproducible;
    }
  }
}

TEST(TeamCheck, FindsEveryPlantedFault) {
  const Plan sound = testing::tiny_plan(in_groups());
  for (const Fault& fault : faults()) {
    Plan plan = sound;
    fault.plant(plan.bodies[kStep].ops);
    EXPECT_FALSE(found_in(plan).empty()) << fault.name;
  }
}

TEST(TeamCheck, FindsAReproducibleSumThatDoesNotCross) {
  Plan plan = testing::tiny_plan(in_groups(/*reproducible=*/true));
  drop(plan.bodies[kStep].ops, Kind::reduce_scatter, Team::across);
  EXPECT_FALSE(found_in(plan).empty());
}

TEST(TeamCheck, FindsAnUpdateThatStageOneDoesNotGather) {
  Plan plan = testing::tiny_plan({.stage = 1, .ranks = 2});
  EXPECT_EQ(found_in(plan), std::vector<std::string>{});
  drop(plan.bodies[kStep].ops, Kind::all_gather, Team::all);
  EXPECT_FALSE(found_in(plan).empty());
}

}  // namespace
}  // namespace zero::plan
