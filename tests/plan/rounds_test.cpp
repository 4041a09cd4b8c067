// Ranks: 1
#include "zero/plan/rounds.hpp"

#include <gtest/gtest.h>

#include "src/compile/passes.hpp"

namespace zero::plan {
namespace {

/// Ops a b | c d | e on compute, reduce, compute, reduce, compute; the middle runs three times.
Body loop_of_two() {
  Body body{.name = "step", .loop = {.begin = 2, .end = 4, .rounds = 3, .micro_batches = 1}};
  for (Lane lane : {Lane::compute, Lane::reduce, Lane::compute, Lane::reduce, Lane::compute}) {
    body.ops.push_back({.kind = Kind::clear, .lane = lane});
  }
  number_lanes(body);
  return body;
}

TEST(Rounds, RunTheOpsOfALoopOneRoundBehindTheOther) {
  const Body body = loop_of_two();
  const Rounds rounds(body);
  std::vector<int32_t> ops;
  std::vector<int64_t> of_round;
  for (int64_t n = 0; n < rounds.size(); ++n) {
    ops.push_back(rounds.turn(n).op);
    of_round.push_back(rounds.turn(n).round);
  }
  EXPECT_EQ(ops, (std::vector<int32_t>{0, 1, 2, 3, 2, 3, 2, 3, 4}));
  EXPECT_EQ(of_round, (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 2, 2, 0}));
  EXPECT_EQ(rounds.size(Lane::compute), 5);
  EXPECT_EQ(rounds.size(Lane::reduce), 4);
  EXPECT_EQ(times_of(body, 1), 1);
  EXPECT_EQ(times_of(body, 3), 3);
}

TEST(Rounds, NumberEachLanesOpsAsTheyRun) {
  const Body body = loop_of_two();
  const Rounds rounds(body);
  EXPECT_EQ(rounds.number(body.ops[1], {.op = 1}), 1);
  EXPECT_EQ(rounds.number(body.ops[3], {.op = 3, .round = 2}), 4);
  EXPECT_EQ(rounds.number(body.ops[4], {.op = 4}), 5);
}

// In front of the loop stands what the round before the first would be.
TEST(Rounds, WaitForTheSameRoundOrTheOneBeforeAndBehindTheLoopForTheLast) {
  const Rounds rounds(loop_of_two());
  const Wait same{Lane::reduce, 2}, before{Lane::reduce, 1};
  EXPECT_EQ(rounds.awaited(before, {.op = 2, .round = 0}), 1);
  EXPECT_EQ(rounds.awaited(before, {.op = 2, .round = 2}), 3);
  EXPECT_EQ(rounds.awaited(same, {.op = 2, .round = 2}), 4);
  EXPECT_EQ(rounds.awaited(same, {.op = 4}), 4);
  EXPECT_EQ(rounds.awaited(before, {.op = 4}), 1) << "which is outside of the loop";
}

TEST(Rounds, AreWrittenOutByUnrolled) {
  Plan plan;
  plan.bodies[kStep] = loop_of_two();
  plan.bodies[kStep].ops[2].waits = {{Lane::reduce, 1}};
  plan.bodies[kStep].ops[3].operands = {{.buffer = 0, .offset = 8, .bytes = 4, .stride = 16}};
  const Body body = unrolled(plan).bodies[kStep];
  ASSERT_EQ(body.ops.size(), 9u);
  EXPECT_FALSE(body.loop.is_there());
  for (int32_t i : {2, 4, 6}) EXPECT_EQ(body.ops[size_t(i)].waits[0].count, i / 2);
  for (int32_t i : {3, 5, 7}) {
    EXPECT_EQ(body.ops[size_t(i)].operands[0].offset, 8 + 16 * (i - 3) / 2);
    EXPECT_EQ(body.ops[size_t(i)].index, (i - 1) / 2);
  }
  EXPECT_EQ(body.ops[8].index, 4);
}

TEST(Rounds, OfABodyWithoutALoopAreItsOps) {
  Body body = loop_of_two();
  body.loop = {};
  const Rounds rounds(body);
  EXPECT_EQ(rounds.size(), 5);
  for (int32_t n = 0; n < 5; ++n) EXPECT_EQ(rounds.turn(n).op, n);
  EXPECT_EQ(Rounds().size(), 0);
}

}  // namespace
}  // namespace zero::plan
