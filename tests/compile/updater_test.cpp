// Ranks: 1
#include <gtest/gtest.h>

#include <algorithm>

#include "src/compile/body_builder.hpp"
#include "tests/support/tiny_plans.hpp"

namespace zero::plan {
namespace {

/// Nine units, whose states rest on the host or on disk.
Plan plan_with(double device_update_share, Tier home = Tier::host) {
  testing::TinyModel model;
  model.gpt2.layers = 8;
  model.evaluates = false;
  return testing::tiny_plan({.stage = 1,
                             .compute = Dtype::bf16,
                             .optimizer_home = home,
                             .device_update_share = device_update_share},
                            model);
}

const std::vector<PlanOp>& step(const Plan& plan) { return plan.bodies[kStep].ops; }

/// Where the unit's update stands in the step.
size_t update_of(const Plan& plan, int32_t unit) {
  const auto found = std::ranges::find_if(
      step(plan), [&](const PlanOp& op) { return op.kind == Kind::update && op.unit == unit; });
  return size_t(found - step(plan).begin());
}

/// Where the first op on a lane stands that moves what this buffer holds, or holds later.
size_t first_move(const Plan& plan, Lane lane, size_t operand, int32_t buffer) {
  const auto found = std::ranges::find_if(step(plan), [&](const PlanOp& op) {
    return op.lane == lane && op.operands[operand].buffer == buffer;
  });
  return size_t(found - step(plan).begin());
}

TEST(Updater, UpdatesAShareOfTheUnitsOnTheDeviceEvenly) {
  const Plan plan = plan_with(0.5);
  const UpdateSites sites = update_sites(plan);
  EXPECT_GE(sites.on_device, 4);
  EXPECT_GE(sites.on_host, 4);
  for (size_t u = 2; u < plan.units.size(); ++u)
    EXPECT_FALSE(plan.units[u].updated_on_device && plan.units[u - 1].updated_on_device &&
                 plan.units[u - 2].updated_on_device);
  for (int32_t u = 0; u < int32_t(plan.units.size()); ++u) {
    const Unit& unit = plan.units[size_t(u)];
    const PlanOp& adam = step(plan)[update_of(plan, u)];
    EXPECT_EQ(adam.lane, unit.updated_on_device ? Lane::compute : Lane::host_optimizer);
    EXPECT_EQ(plan.buffers[size_t(unit.states[0])].tier, Tier::host);
    EXPECT_EQ(plan.buffers[size_t(unit.gradient)].tier,
              unit.updated_on_device ? Tier::device : Tier::host);
  }
  EXPECT_EQ(update_sites(plan_with(0)).on_device, 0);
  EXPECT_EQ(update_sites(plan_with(1)).on_host, 0);
}

TEST(Updater, BringsAndSendsHomeEveryStateThatStreamsOnce) {
  const Plan plan = plan_with(1);
  for (const Unit& unit : plan.units) {
    for (const int32_t state : {unit.low, unit.states[0], unit.states[1]}) {
      const auto moves = [&](Lane lane, size_t operand) {
        return std::ranges::count_if(step(plan), [&](const PlanOp& op) {
          return op.lane == lane && op.operands[operand].buffer == state;
        });
      };
      EXPECT_EQ(moves(Lane::h2d, 0), 1);
      EXPECT_EQ(moves(Lane::d2h, 1), 1);
    }
  }
  for (const PlanOp& op : step(plan)) EXPECT_NE(op.lane, Lane::host_optimizer);
}

// A lane carries its ops in one order, so what comes must not stand behind what goes.
TEST(Updater, StatesOfTheNextTwoUnitsAreOnTheirWayBeforeAnUpdate) {
  const Plan plan = plan_with(1);
  const std::vector<int32_t> order = update_order(plan);
  for (size_t i = 0; i + 2 < order.size(); ++i) {
    const Unit& unit = plan.units[size_t(order[i])];
    const Unit& behind = plan.units[size_t(order[i + 2])];
    EXPECT_LT(first_move(plan, Lane::h2d, 0, behind.states[1]), update_of(plan, order[i]));
    EXPECT_LT(first_move(plan, Lane::h2d, 0, behind.states[1]),
              first_move(plan, Lane::d2h, 1, unit.low));
  }
}

// Compute waits there for states.
TEST(Updater, AUnitThatStreamsIsUpdatedJustBeforeItsUse) {
  const Plan plan = plan_with(1);
  for (size_t i = 1; i < plan.units.size(); ++i) {
    const size_t place = update_of(plan, int32_t(i));
    const bool computed = std::any_of(step(plan).begin(), step(plan).begin() + int64_t(place),
                                      [](const PlanOp& op) { return op.kind == Kind::compute; });
    EXPECT_TRUE(computed) << plan.units[i].name;
  }
  const Plan on_host = plan_with(0);
  for (int32_t u = 0; u < int32_t(on_host.units.size()); ++u)
    EXPECT_EQ(
        std::ranges::find(step(on_host), Kind::compute, &PlanOp::kind) - step(on_host).begin() >
            int64_t(update_of(on_host, u)),
        true);
}

// From disk by way of host memory to the device, and back the same way.
TEST(Updater, StatesOnDiskStreamThroughBothMemories) {
  const Plan plan = plan_with(1, Tier::nvme);
  for (const Unit& unit : plan.units) {
    EXPECT_LT(first_move(plan, Lane::disk_write, 1, unit.states[1]), step(plan).size());
    EXPECT_LT(first_move(plan, Lane::disk_read, 0, unit.states[1]), step(plan).size());
  }
  const auto up = std::ranges::count(step(plan), Lane::h2d, &PlanOp::lane);
  const auto down = std::ranges::count(step(plan), Lane::d2h, &PlanOp::lane);
  EXPECT_EQ(up, int64_t(3 * plan.units.size()));
  EXPECT_EQ(down, int64_t(3 * plan.units.size()));
}

}  // namespace
}  // namespace zero::plan
