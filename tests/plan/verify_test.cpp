// Ranks: 1

#include "zero/plan/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "src/plan/passes.hpp"
#include "tests/support/redundant_waits.hpp"
#include "tests/support/tiny_plans.hpp"

namespace zero::plan {
namespace {

constexpr int kPlans = 50;
constexpr int kPlansWithAllPairs = 5;

using Draw = Request (*)(uint64_t seed);

Plan random_plan(uint64_t seed, Draw draw = testing::random_request) {
  return testing::tiny_plan(draw(seed), testing::random_model(seed));
}

bool has_waits(const Plan& plan) {
  for (const Body& body : plan.bodies) {
    for (const PlanOp& op : body.ops) {
      if (!op.waits.empty()) return true;
    }
  }
  return false;
}

/// Calls visit(plan) for the first `plans` plans with waits, each of which orders two accesses.
/// Without overlap waits also keep lanes from running at the same time at all, so those are none.
template <class Visit>
void visit_plans_with_waits(Draw draw, int plans, const Visit& visit) {
  int visited = 0;
  for (uint64_t seed = 0; visited < plans; ++seed) {
    ASSERT_LT(seed, 200u) << "so few plans have waits";
    SCOPED_TRACE(seed);
    if (!draw(seed).overlap) continue;
    Plan plan = random_plan(seed, draw);
    if (!has_waits(plan)) continue;
    visit(plan);
    ++visited;
  }
}

TEST(Verify, FindsNothingInTwoHundredCompiledPlans) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Plan plan = random_plan(seed);
    EXPECT_EQ(verify(plan), std::vector<std::string>{}) << "seed " << seed;
  }
}

TEST(Verify, FindsNothingInAHundredPlansOverAllTiers) {
  std::array<int, kTiers> used{};
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Plan plan = random_plan(seed, testing::random_tiered_request);
    EXPECT_EQ(verify(plan), std::vector<std::string>{}) << "seed " << seed;
    for (size_t tier = 0; tier < kTiers; ++tier) used[tier] += plan.arena_bytes[tier] > 0;
  }
  for (int plans : used) EXPECT_GT(plans, 20);
}

TEST(Verify, NoWaitIsRedundant) {
  for (Draw draw : {testing::random_request, testing::random_tiered_request}) {
    visit_plans_with_waits(draw, kPlans, [](const Plan& plan) {
      for (const Body& body : plan.bodies) {
        EXPECT_EQ(testing::redundant_waits(body), 0) << body.name;
      }
    });
  }
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

void expect_every_deleted_wait_is_caught(Draw draw, int plans) {
  int64_t deleted = 0;
  visit_plans_with_waits(draw, plans, [&](Plan& plan) {
    for (Body& body : plan.bodies) {
      for (PlanOp& op : body.ops) deleted += delete_waits(plan, op);
    }
  });
  EXPECT_GT(deleted, 20 * plans);
}

TEST(Verify, CatchesEveryDeletedWaitOfFiftyPlans) {
  expect_every_deleted_wait_is_caught(testing::random_request, kPlans);
}

TEST(Verify, CatchesEveryDeletedWaitOfTwentyPlansOverTiers) {
  expect_every_deleted_wait_is_caught(testing::random_tiered_request, 20);
}

/// First and last op of each body that touch a buffer; first = -1: none.
struct Touch {
  int first = -1;
  int last = -1;
};

/// Of every body.
using BodyTouches = std::array<std::vector<Touch>, kBodies>;

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

/// The first body in which two buffers are live at the same time; kBodies: in none.
int body_of_both(const Plan& plan, const BodyTouches& touch, size_t a, size_t b) {
  int body = 0;
  while (body < kBodies && !live_together(plan, touch[size_t(body)], a, b)) ++body;
  return body;
}

/// Which moves are tried.
struct Trial {
  bool whole = false;  ///< the plan as it was drawn; else one layer and at most two micro-batches
  size_t stride = 1;   ///< every so-manieth of the pairs
  bool ends = false;   ///< also onto the last bytes of a tensor alone, and onto its first
};

/// ZERO_TEST_MOVES says of how many plans everything is tried; tests/campaigns.txt does.
int plans_with_all_moves() {
  const char* const wanted = std::getenv("ZERO_TEST_MOVES");
  return wanted == nullptr ? 0 : std::atoi(wanted);
}

/// Where `moved` lies on `live`: beginning with it, and by 64 bytes below its end and its begin.
std::vector<int64_t> places_on(const Buffer& live, const Buffer& moved, int64_t arena, bool ends) {
  std::vector<int64_t> places = {std::min(live.offset, arena - moved.bytes)};
  if (!ends) return places;
  const int64_t shared = std::min<int64_t>({64, live.bytes, moved.bytes});
  for (int64_t place : {live.offset + live.bytes - shared, live.offset + shared - moved.bytes}) {
    if (place >= 0 && place + moved.bytes <= arena) places.push_back(place);
  }
  return places;
}

/// Returns at how many places.
int64_t expect_caught_on(Plan& plan, size_t a, size_t b, bool ends) {
  Buffer& moved = plan.buffers[a];
  const Buffer& live = plan.buffers[b];
  const int64_t home = moved.offset, arena = plan.arena_bytes[size_t(moved.tier)];
  const std::vector<int64_t> places = places_on(live, moved, arena, ends);
  for (int64_t place : places) {
    moved.offset = place;
    EXPECT_FALSE(verify(plan, 1).empty())
        << moved.name << " at " << place << " on " << live.name << " at " << live.offset;
  }
  moved.offset = home;
  return int64_t(places.size());
}

using Moves = std::array<int64_t, kBodies>;  ///< by the first body in which both are live

/// Moves every buffer onto those that are live at the same time.
void move_onto_live(Plan& plan, const Trial& trial, Moves& moves) {
  BodyTouches touch;
  for (size_t body = 0; body < touch.size(); ++body) touch[body] = touches(plan, plan.bodies[body]);
  for (size_t a = 0; a < plan.buffers.size(); ++a) {
    for (size_t b = a * 7 % trial.stride; b < plan.buffers.size(); b += trial.stride) {
      if (a == b || plan.buffers[a].tier != plan.buffers[b].tier) continue;
      const int body = body_of_both(plan, touch, a, b);
      if (body != kBodies) moves[size_t(body)] += expect_caught_on(plan, a, b, trial.ends);
    }
  }
}

Plan plan_of_trial(const Trial& trial, Draw draw, uint64_t seed) {
  if (trial.whole) return random_plan(seed, draw);
  testing::TinyModel model = testing::random_model(seed);
  model.gpt2.layers = 1;
  Request request = draw(seed);
  request.micro_batches = std::min(request.micro_batches, 2);
  return testing::tiny_plan(request, model);
}

// Every pair of a few plans, a fifth of the pairs of the others; or everything of so many.
Moves move_onto_live_in(Draw draw, int plans) {
  Moves moves{};
  const int thorough = plans_with_all_moves();
  for (uint64_t seed = 0; seed < uint64_t(thorough > 0 ? thorough : plans); ++seed) {
    SCOPED_TRACE(seed);
    Trial trial{.stride = seed < uint64_t(kPlansWithAllPairs) ? 1u : 5u};
    if (thorough > 0) trial = {.whole = true, .ends = true};
    Plan plan = plan_of_trial(trial, draw, seed);
    move_onto_live(plan, trial, moves);
  }
  std::printf("%lld moves\n", (long long)std::accumulate(moves.begin(), moves.end(), int64_t{0}));
  return moves;
}

TEST(Verify, CatchesEveryTensorMovedOntoALiveOne) {
  const Moves moves = move_onto_live_in(testing::random_request, kPlans);
  EXPECT_GT(moves[kStep], 15'000);
  EXPECT_GT(moves[kFinish], 100);
  EXPECT_GT(moves[kEvaluate], 1000);
}

TEST(Verify, CatchesEveryTensorMovedOntoALiveOneOfItsTier) {
  const Moves moves = move_onto_live_in(testing::random_tiered_request, 20);
  EXPECT_GT(moves[kStep], 4000);
  EXPECT_GT(moves[kFinish], 40);
}

// What a lane cannot touch: a kernel a disk, a copy to the device the disk, the host's optimizer
// the device.
TEST(Verify, SeesAnOpOnATierThatItsLaneDoesNotReach) {
  Request request{.stage = 1, .optimizer_home = Tier::nvme};
  const Plan good = testing::tiny_plan(request);
  EXPECT_TRUE(verify(good).empty());
  for (const Lane lane : {Lane::compute, Lane::h2d, Lane::host_optimizer}) {
    Plan plan = good;
    for (PlanOp& op : plan.bodies[kFinish].ops) {
      if (op.kind == Kind::disk_read) op.lane = lane;
    }
    number_lanes(plan.bodies[kFinish]);
    place_waits(plan, plan.bodies[kFinish]);
    EXPECT_FALSE(verify(plan, 1).empty()) << name_of(lane);
  }
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
