// Ranks: 1

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "src/compile/passes.hpp"
#include "src/plan/verify_parts.hpp"
#include "tests/support/redundant_waits.hpp"
#include "tests/support/tiny_plans.hpp"

namespace zero::plan {
namespace {

constexpr int kPlans = 50;
constexpr int kPlansWithAllPairs = 2;
constexpr size_t kStride = 17;  // from pair to pair in the others; tests/campaigns.txt tries all

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

/// First and last op of a body between which a buffer is in use.
struct Life {
  int first, last;
};

/// The lives of every buffer of a body.
using Lives = std::vector<std::vector<Life>>;
using BodyLives = std::array<Lives, kBodies>;

bool fills_copy(const Plan& plan, const Operand& operand) {
  const Buffer& buffer = plan.buffers[size_t(operand.buffer)];
  return buffer.copy_of >= 0 && operand.mode == Mode::write && operand.bytes == buffer.bytes;
}

void touch(const Plan& plan, const Operand& operand, int op, Lives& lives) {
  std::vector<Life>& own = lives[size_t(operand.buffer)];
  const bool anew = fills_copy(plan, operand);
  if (own.empty() || anew) own.push_back({op, op});
  if (!plan.buffers[size_t(operand.buffer)].persistent) own.back().last = op;
  if (plan.buffers[size_t(operand.buffer)].copy_of < 0) return;
  own.back().last = anew ? INT_MAX : op;
}

/// What rests is always in use, a copy not between its last use and the op that fills it anew.
Lives lives_in(const Plan& plan, BodyId body) {
  Lives lives(plan.buffers.size());
  for (size_t b = 0; b < lives.size(); ++b) {
    const bool copy = plan.buffers[b].copy_of >= 0;
    if (plan.buffers[b].persistent && !(copy && body == kReadAhead)) lives[b] = {{-1, INT_MAX}};
  }
  const std::vector<PlanOp>& ops = plan.bodies[body].ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    for (const Operand& operand : ops[i].operands) {
      if (operand.buffer >= 0) touch(plan, operand, int(i), lives);
    }
  }
  return lives;
}

bool live_together(const std::vector<Life>& a, const std::vector<Life>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Life& mine) {
    return std::any_of(b.begin(), b.end(), [&](const Life& other) {
      return mine.first <= other.last && other.first <= mine.last;
    });
  });
}

/// The first body in which two buffers are live at the same time; kBodies: in none.
int body_of_both(const BodyLives& lives, size_t a, size_t b) {
  int body = 0;
  while (body < kBodies && !live_together(lives[size_t(body)][a], lives[size_t(body)][b])) ++body;
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
  BodyLives lives;
  for (int body = 0; body < kBodies; ++body) lives[size_t(body)] = lives_in(plan, BodyId(body));
  for (size_t a = 0; a < plan.buffers.size(); ++a) {
    for (size_t b = a * 7 % trial.stride; b < plan.buffers.size(); b += trial.stride) {
      if (a == b || plan.buffers[a].tier != plan.buffers[b].tier) continue;
      const int body = body_of_both(lives, a, b);
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

// Every pair of a few plans, a few pairs of the others; or everything of so many.
Moves move_onto_live_in(Draw draw, int plans) {
  Moves moves{};
  const int thorough = plans_with_all_moves();
  for (uint64_t seed = 0; seed < uint64_t(thorough > 0 ? thorough : plans); ++seed) {
    SCOPED_TRACE(seed);
    Trial trial{.stride = seed < uint64_t(kPlansWithAllPairs) ? 1u : kStride};
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
  EXPECT_GT(moves[kFinish], 50);
  EXPECT_GT(moves[kEvaluate], 1000);
}

TEST(Verify, CatchesEveryTensorMovedOntoALiveOneOfItsTier) {
  const Moves moves = move_onto_live_in(testing::random_tiered_request, 20);
  EXPECT_GT(moves[kStep], 4000);
  EXPECT_GT(moves[kFinish], 40);
}

TEST(Verify, CatchesEveryTensorMovedOntoAnActivationOnItsWay) {
  Plan plan = testing::tiny_plan({.activation_home = Tier::nvme, .staged_activations = 1},
                                 {.recompute = graph::Recompute::full});
  Moves moves{};
  move_onto_live(plan, {.stride = 5, .ends = true}, moves);
  EXPECT_GT(moves[kStep], 2000);
}

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

/// Whether the op takes bytes from a disk, or to their home there or on the device.
bool is_read(const Plan& plan, const PlanOp& op) {
  return op.kind == Kind::disk_read && plan.buffers[size_t(op.operands[1].buffer)].copy_of >= 0;
}
bool goes_home(const Plan& plan, const PlanOp& op) {
  const int32_t to = is_transfer(op.kind) ? op.operands[1].buffer : -1;
  return to >= 0 && std::ranges::any_of(plan.units, [to](const Unit& unit) {
           return std::ranges::count(unit.updated(), to) > 0;
         });
}

/// A body's ops with one gone, or at another place, with the waits that they then need.
void rewire(Plan& plan, Body& body) {
  number_lanes(body);
  place_waits(plan, body);
}

/// Whether another buffer uses bytes of this one in a body.
bool is_lent(const Plan& plan, const Body& body, int32_t b) {
  const Buffer& copy = plan.buffers[size_t(b)];
  for (const PlanOp& op : body.ops) {
    for (const Operand& operand : op.operands) {
      if (operand.buffer < 0 || operand.buffer == b) continue;
      const Buffer& other = plan.buffers[size_t(operand.buffer)];
      if (other.tier == copy.tier && other.offset < copy.offset + copy.bytes &&
          copy.offset < other.offset + other.bytes) {
        return true;
      }
    }
  }
  return false;
}

/// Calls visit(plan, body, op's place) for the ops of tiered plans that `picks` picks; returns how
/// many.
template <class Picks, class Visit>
int visit_ops(const Picks& picks, const Visit& visit) {
  int visited = 0;
  const uint64_t plans = std::max(40, 4 * plans_with_all_moves());
  for (uint64_t seed = 0; seed < plans; ++seed) {
    SCOPED_TRACE(seed);
    Plan plan = random_plan(seed, testing::random_tiered_request);
    for (Body& body : plan.bodies) {
      const std::vector<PlanOp> ops = body.ops;
      for (size_t i = 0; i < ops.size(); ++i) {
        if (!picks(plan, ops[i])) continue;
        visit(plan, body, i);
        body.ops = ops;
        ++visited;
      }
    }
  }
  return visited;
}

// One that is not lent to others keeps what the optimizer left in it, which is what is read.
TEST(Verify, CatchesEveryReadAheadThatIsMissing) {
  const int reads = visit_ops(is_read, [](Plan& plan, Body& body, size_t i) {
    const PlanOp read = body.ops[i];
    body.ops.erase(body.ops.begin() + ptrdiff_t(i));
    rewire(plan, body);
    const bool on_host = plan.units[size_t(read.unit)].optimizer_site() == Tier::host;
    const bool needless =
        on_host && body.name != "read ahead" && !is_lent(plan, body, read.operands[1].buffer);
    EXPECT_EQ(verify(plan, 1).empty(), needless) << body.name << " op " << i;
  });
  EXPECT_GT(reads, 150);
}

TEST(Verify, CatchesEveryUpdateThatDoesNotComeHome) {
  const int homeward = visit_ops(goes_home, [](Plan& plan, Body& body, size_t i) {
    body.ops.erase(body.ops.begin() + ptrdiff_t(i));
    rewire(plan, body);
    EXPECT_FALSE(verify(plan, 1).empty()) << body.name << " op " << i;
  });
  EXPECT_GT(homeward, 200);
}

// Then it would bring back what was before the update.
TEST(Verify, CatchesEveryReadAheadOfWhatIsNotHomeYet) {
  int early = 0;
  visit_ops(is_read, [&](Plan& plan, Body& body, size_t i) {
    const PlanOp read = body.ops[i];
    const auto home = std::find_if(body.ops.begin(), body.ops.end(), [&](const PlanOp& op) {
      return op.kind == Kind::disk_write && op.operands[1].buffer == read.operands[0].buffer;
    });
    if (home == body.ops.end()) return;
    std::rotate(home, body.ops.begin() + ptrdiff_t(i), body.ops.begin() + ptrdiff_t(i) + 1);
    rewire(plan, body);
    EXPECT_FALSE(verify(plan, 1).empty()) << body.name << " op " << i;
    ++early;
  });
  EXPECT_GT(early, 100);
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
