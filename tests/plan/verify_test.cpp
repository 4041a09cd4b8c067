// Ranks: 1

#include "zero/plan/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/tiny_plans.hpp"

namespace zero::plan {
namespace {

constexpr uint64_t kPlans = 50;

Plan random_plan(uint64_t seed) {
  return testing::tiny_plan(testing::random_request(seed), testing::random_model(seed));
}

TEST(Verify, FindsNothingInTwoHundredCompiledPlans) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Plan plan = random_plan(seed);
    EXPECT_EQ(verify(plan), std::vector<std::string>{}) << "seed " << seed;
  }
}

TEST(Verify, NoWaitIsRedundant) {
  int64_t waits = 0;
  for (uint64_t seed = 0; seed < kPlans; ++seed) {
    const Plan plan = random_plan(seed);
    if (!plan.request.overlap) continue;
    for (const Body& body : plan.bodies) {
      EXPECT_EQ(redundant_waits(body), 0) << body.name << " of seed " << seed;
      for (const PlanOp& op : body.ops) waits += int64_t(op.waits.size());
    }
  }
  EXPECT_GT(waits, 500);
}

/// Deletes each wait of an op in turn; returns how many.
int64_t delete_waits(const Plan& plan, PlanOp& op) {
  const std::vector<Wait> all = op.waits;
  for (size_t w = 0; w < all.size(); ++w) {
    op.waits.erase(op.waits.begin() + ptrdiff_t(w));
    EXPECT_FALSE(verify(plan, 1).empty()) << name_of(op.kind) << " of lane " << name_of(op.lane);
    op.waits = all;
  }
  return int64_t(all.size());
}

TEST(Verify, CatchesEveryDeletedWait) {
  int64_t deleted = 0;
  for (uint64_t seed = 0; seed < kPlans; ++seed) {
    SCOPED_TRACE(seed);
    Plan plan = random_plan(seed);
    if (!plan.request.overlap) continue;  // then waits also keep lanes from overlapping at all
    for (Body& body : plan.bodies) {
      for (PlanOp& op : body.ops) deleted += delete_waits(plan, op);
    }
  }
  EXPECT_GT(deleted, 500);
}

/// First and last op of each body that touch a buffer; first = -1: none.
struct Touch {
  int first = -1;
  int last = -1;
};

std::vector<Touch> touches(const Plan& plan, const Body& body) {
  std::vector<Touch> touch(plan.buffers.size());
  for (size_t i = 0; i < body.ops.size(); ++i) {
    for (const Operand& operand : body.ops[i].operands) {
      if (operand.buffer < 0) continue;
      Touch& at = touch[size_t(operand.buffer)];
      if (at.first < 0) at.first = int(i);
      at.last = int(i);
    }
  }
  return touch;
}

bool live_together(const Plan& plan, const std::vector<Touch>& touch, size_t a, size_t b) {
  const auto in_body = [&](size_t x) { return touch[x].first >= 0; };
  if (plan.buffers[a].persistent) return in_body(b) || plan.buffers[b].persistent;
  if (plan.buffers[b].persistent) return in_body(a);
  return in_body(a) && in_body(b) && touch[a].first <= touch[b].last &&
         touch[b].first <= touch[a].last;
}

/// Moves every buffer onto a few of those that are live at the same time; returns how many moves.
int64_t move_onto_live(Plan& plan, const Body& body, uint64_t seed) {
  const std::vector<Touch> touch = touches(plan, body);
  int64_t moves = 0;
  for (size_t a = 0; a < plan.buffers.size(); ++a) {
    for (size_t b = (a * 7 + seed) % 5; b < plan.buffers.size(); b += 5) {
      if (a == b || !live_together(plan, touch, a, b)) continue;
      const int64_t home = plan.buffers[a].offset;
      const int64_t arena = plan.arena_bytes[size_t(Tier::device)];
      plan.buffers[a].offset = std::min(plan.buffers[b].offset, arena - plan.buffers[a].bytes);
      EXPECT_FALSE(verify(plan, 1).empty())
          << plan.buffers[a].name << " on " << plan.buffers[b].name << " in " << body.name
          << " of seed " << seed;
      plan.buffers[a].offset = home;
      ++moves;
    }
  }
  return moves;
}

TEST(Verify, CatchesEveryTensorMovedOntoALiveOne) {
  int64_t moves = 0;
  for (uint64_t seed = 0; seed < kPlans; ++seed) {
    testing::TinyModel model = testing::random_model(seed);
    model.gpt2.layers = 1;
    Request request = testing::random_request(seed);
    request.micro_batches = std::min(request.micro_batches, 2);
    Plan plan = testing::tiny_plan(request, model);
    moves += move_onto_live(plan, plan.bodies[kStep], seed);
  }
  EXPECT_GT(moves, 10'000);
}

TEST(Verify, SeesABufferThatIsTooShortForItsOperand) {
  Plan plan = random_plan(3);
  plan.buffers[size_t(plan.units[0].weight)].bytes -= 1;
  EXPECT_FALSE(verify(plan, 1).empty());
}

TEST(Verify, SeesAWaitForAnOpThatComesLater) {
  Plan plan = random_plan(3);
  plan.bodies[kStep].ops[0].waits.push_back({.lane = Lane::compute, .count = 5});
  EXPECT_FALSE(verify(plan, 1).empty());
}

}  // namespace
}  // namespace zero::plan
