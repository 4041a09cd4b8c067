// Ranks: 1

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "src/compile/passes.hpp"
#include "src/plan/verify_parts.hpp"
#include "tests/support/tiny_plans.hpp"

namespace zero::plan {
namespace {

/// A reproducible plan with a loop over pairs of micro-batches; a counter of nine levels.
Plan counting_plan(int ranks) {
  Request request{.stage = 2, .ranks = ranks, .micro_batches = 1000, .most_written = 4};
  request.reproducible = true;
  request.reduce_bucket_numel = 6000;
  testing::TinyModel model;
  model.gpt2.layers = 1;
  return testing::tiny_plan(request, model);
}

TEST(SlotSchedule, ACounterFoldsToItsLevelsAndIsProved) {
  for (const int ranks : {1, 2}) {
    const Plan plan = counting_plan(ranks);
    EXPECT_EQ(verify(plan), std::vector<std::string>{});
    EXPECT_EQ(plan.bodies[kStep].loop.micro_batches, 2);
    for (const Unit& unit : plan.units) {
      const std::vector<int32_t>& slots = plan.counters[size_t(&unit - plan.units.data())];
      ASSERT_EQ(slots.size(), 9u);
      EXPECT_EQ(slots.back(), unit.gradient);
    }
  }
}

/// Changes each op of the loop that counts, expects verify to find it; returns how many.
template <class Change>
int expect_found(Plan& plan, const Change& change) {
  Body& body = plan.bodies[kStep];
  int changed = 0;
  for (int32_t i = body.loop.begin; i < body.loop.end; ++i) {
    PlanOp& op = body.ops[size_t(i)];
    const PlanOp kept = op;
    if (!op.counts || !change(op)) continue;
    EXPECT_FALSE(verify(plan, 1).empty()) << name_of(op.kind) << ", op " << i;
    op = kept;
    ++changed;
  }
  return changed;
}

TEST(SlotSchedule, AnOpThatCountsWronglyIsFound) {
  for (const int ranks : {1, 2}) {
    Plan plan = counting_plan(ranks);
    const int units = int(plan.units.size());
    EXPECT_GE(expect_found(plan, [](PlanOp& op) { return op.micro += 2; }), 3 * units);
    EXPECT_GE(expect_found(plan, [](PlanOp& op) { return !(op.counts = false); }), 3 * units);
    const int carries = expect_found(plan, [](PlanOp& op) {
      if (op.kind != Kind::carry) return false;
      std::swap(op.operands[1], op.operands[2]);
      return true;
    });
    const int missing = expect_found(plan, [](PlanOp& op) {
      if (op.kind == Kind::carry) op.operands.pop_back();
      return op.kind == Kind::carry;
    });
    const int written = expect_found(plan, [](PlanOp& op) {
      const bool adds = op.kind != Kind::carry && op.operands[1].mode == Mode::update && op.add;
      if (adds) op.operands[1].mode = Mode::write;
      return adds;
    });
    EXPECT_EQ(carries, units);
    EXPECT_EQ(missing, carries);
    EXPECT_GE(written, carries);
  }
}

TEST(SlotSchedule, ACarryThatIsMissingOrOfAnotherLaneIsFound) {
  const Plan good = counting_plan(2);
  for (const bool gone : {false, true}) {
    Plan plan = good;
    Body& body = plan.bodies[kStep];
    const auto carry = std::find_if(body.ops.begin() + body.loop.begin, body.ops.end(),
                                    [](const PlanOp& op) { return op.kind == Kind::carry; });
    carry->lane = Lane::compute;
    if (gone) body.ops.erase(carry);
    body.loop.end -= gone;
    number_lanes(body);
    place_waits(plan, body);
    EXPECT_FALSE(verify(plan, 1).empty());
  }
}

// Behind twelve pairs: 12 is 1100 in binary numbers, 13 is 1101 and carries twice.
TEST(SlotSchedule, ShowsOneRoundForEachNumberOfCarriesThatOccurs) {
  Plan plan;
  plan.buffers.assign(6, {.name = "slot", .bytes = 256});
  plan.counters = {{0, 1, 2, 3, 4, 5}};
  Body body{
      .name = "step",
      .ops = {{.kind = Kind::accumulate, .unit = 0, .micro = 24, .operands = {{}, {.buffer = 0}}}},
      .loop = {.begin = 0, .end = 1, .rounds = 20, .micro_batches = 2}};
  body.ops[0].counts = true;
  const SlotSchedule schedule(plan, body);
  EXPECT_EQ(schedule.wrong(), "");
  EXPECT_EQ(schedule.one_for_each_carry(0), (std::vector<int64_t>{0, 1, 7, 11, 3, 19}));
  EXPECT_EQ(schedule.one_for_each_carry(4), (std::vector<int64_t>{4, 5, 7, 11, 19}));
  std::vector<int> carries;
  for (const int64_t round : schedule.one_for_each_carry(0)) {
    carries.push_back(carries_of(body, body.ops[0], round));
  }
  EXPECT_EQ(carries, (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace zero::plan
