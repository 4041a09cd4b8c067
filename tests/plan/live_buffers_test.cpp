// Ranks: 1
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "src/compile/passes.hpp"
#include "src/plan/verify_parts.hpp"
#include "tests/support/tiny_plans.hpp"

namespace zero::plan {
namespace {

/// First and last op of a step between which a buffer is in use.
struct Life {
  size_t first, last;
};
using Lives = std::vector<std::vector<Life>>;  ///< [buffers]

/// In the list, which shows how a loop goes on.
Lives lives_in_step(const Plan& plan) {
  Lives lives(plan.buffers.size());
  const std::vector<PlanOp>& ops = plan.bodies[kStep].ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    for (const int32_t buffer : ops[i].anew) lives[size_t(buffer)].push_back({i, i});
    for (const Operand& operand : ops[i].operands) {
      if (operand.buffer < 0) continue;
      std::vector<Life>& own = lives[size_t(operand.buffer)];
      if (own.empty()) own.push_back({i, i});
      own.back().last = i;
    }
  }
  for (size_t b = 0; b < lives.size(); ++b) {
    if (plan.buffers[b].persistent) lives[b] = {{0, ops.size()}};
  }
  return lives;
}

bool live_together(const std::vector<Life>& a, const std::vector<Life>& b) {
  return std::ranges::any_of(a, [&](const Life& mine) {
    return std::ranges::any_of(
        b, [&](const Life& other) { return mine.first <= other.last && other.first <= mine.last; });
  });
}

/// Moves buffers onto others of their tier that are in use at the same time, every 31st pair, and
/// expects verify to find it; returns how often.
int move_onto_live(Plan& plan) {
  const Lives lives = lives_in_step(plan);
  int moves = 0;
  for (size_t a = 0; a < lives.size(); ++a) {
    Buffer& moved = plan.buffers[a];
    for (size_t b = a % 31; b < lives.size(); b += 31) {
      const Buffer& live = plan.buffers[b];
      if (a == b || moved.tier != live.tier || !live_together(lives[a], lives[b])) continue;
      const int64_t home = moved.offset;
      moved.offset = std::min(live.offset, plan.arena_bytes[size_t(moved.tier)] - moved.bytes);
      EXPECT_FALSE(verify(plan, 1).empty()) << moved.name << " on " << live.name;
      moved.offset = home;
      ++moves;
    }
  }
  return moves;
}

// Most of what a step with a loop names is used in the loop.
TEST(LiveBuffers, ATensorOfALoopThatIsMovedOntoALiveOneIsFound) {
  for (const bool reproducible : {false, true}) {
    for (const Tier home : {Tier::device, Tier::nvme}) {
      Request request{.stage = 3, .ranks = 2, .micro_batches = 1001, .most_written = 4};
      request.reproducible = reproducible;
      request.optimizer_home = home;
      testing::TinyModel model;
      model.gpt2.layers = 1;
      Plan plan = testing::tiny_plan(request, model);
      ASSERT_TRUE(plan.bodies[kStep].loop.is_there());
      EXPECT_EQ(verify(plan), std::vector<std::string>{});
      EXPECT_GT(move_onto_live(plan), 40);
    }
  }
}

// The bytes that a disk has of one state are not those that another state's update needs.
TEST(VerifiedCopies, SeesACopyOfSomethingElse) {
  Plan plan = testing::tiny_plan({.stage = 1, .optimizer_home = Tier::nvme});
  for (PlanOp& op : plan.bodies[kReadAhead].ops) {
    if (op.operands[0].buffer == plan.units[1].states[0]) {
      op.operands[0].buffer = plan.units[1].states[1];
    }
  }
  number_lanes(plan.bodies[kReadAhead]);
  place_waits(plan, plan.bodies[kReadAhead]);
  EXPECT_FALSE(verify(plan, 1).empty());
}

TEST(VerifiedCopies, SeesACopyOfBytesThatAreNobodys) {
  Plan plan = testing::tiny_plan({.stage = 1, .optimizer_home = Tier::nvme});
  const int32_t state = plan.units[1].states[0], stranger = int32_t(plan.buffers.size());
  Buffer other = plan.buffers[size_t(state)];
  int64_t& arena = plan.arena_bytes[size_t(other.tier)];
  other.name = "of no state";
  other.offset = arena;
  arena += other.bytes;
  plan.buffers.push_back(other);
  EXPECT_TRUE(verify(plan, 1).empty()) << "as long as nobody reads them";
  for (PlanOp& op : plan.bodies[kReadAhead].ops) {
    if (op.operands[0].buffer == state) op.operands[0].buffer = stranger;
  }
  number_lanes(plan.bodies[kReadAhead]);
  place_waits(plan, plan.bodies[kReadAhead]);
  EXPECT_FALSE(verify(plan, 1).empty());
}

/// The op whose activation the op behind it computes with; -1: none.
int32_t next_writer(const Body& body, size_t from) {
  for (size_t i = from; i + 1 < body.ops.size(); ++i) {
    const PlanOp &op = body.ops[i], &next = body.ops[i + 1];
    if (op.kind != Kind::compute || next.kind != Kind::compute) continue;
    for (const Operand& read : next.operands) {
      if (read.buffer < 0 || read.mode != Mode::read) continue;
      for (const Operand& written : op.operands) {
        if (written.mode == Mode::write && written.buffer == read.buffer) return int32_t(i);
      }
    }
  }
  return -1;
}

// Zeros in the right buffer are not what an op of the graph computes with.
TEST(VerifiedTensors, SeeBytesOfNoKnownTensor) {
  const Plan good = testing::tiny_plan({});
  int tried = 0;
  for (int32_t i = next_writer(good.bodies[kStep], 0); i >= 0;
       i = next_writer(good.bodies[kStep], size_t(i) + 1)) {
    Plan plan = good;
    plan.bodies[kStep].ops[size_t(i)].kind = Kind::clear;
    EXPECT_FALSE(verify(plan, 1).empty()) << "op " << i;
    ++tried;
  }
  EXPECT_GT(tried, 10);
}

}  // namespace
}  // namespace zero::plan
