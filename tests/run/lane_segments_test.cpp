// Ranks: 1
#include "src/run/lane_segments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hand_plan.hpp"
#include "tests/support/tiny_plans.hpp"
#include "zero/base/error.hpp"
#include "zero/graph/operations.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {
namespace {

using plan::BodyId;
using plan::Kind;
using plan::kStep;
using plan::Lane;
using plan::Mode;
using ::testing::ElementsAre;

std::vector<int32_t> counts(const std::vector<Segment>& segments) {
  std::vector<int32_t> all;
  for (const Segment& segment : segments) all.push_back(segment.count);
  return all;
}

/// Seven clears on compute.
struct Clears {
  testing::HandPlan hand;
  Clears() {
    const int32_t buffer = hand.keep("b", 8);
    for (int i = 0; i < 7; ++i) hand.clear(buffer);
  }
  plan::PlanOp& operator[](size_t i) { return hand.plan.bodies[kStep].ops[i]; }
  std::vector<Segment> cut(int32_t most = 64, Lane lane = Lane::compute) const {
    return segments_of(hand.plan, kStep, lane, most);
  }
};

TEST(Segments, JoinWhatHasNothingBetweenUpToTheirMost) {
  Clears ops;
  EXPECT_THAT(counts(ops.cut()), ElementsAre(7));
  EXPECT_TRUE(ops.cut()[0].recordable);
  EXPECT_THAT(counts(ops.cut(3)), ElementsAre(3, 3, 1));
  EXPECT_FALSE(ops.cut(3)[2].recordable) << "one op gains nothing";
  EXPECT_THAT(counts(ops.cut(1)), ElementsAre(1, 1, 1, 1, 1, 1, 1));
  EXPECT_TRUE(ops.cut(64, Lane::gather).empty());
}

TEST(Segments, OfCopiesAreRecordedOnlyWhereHostMemoryIsPinned) {
  for (const Lane lane : {Lane::h2d, Lane::d2h, Lane::compute}) {
    Clears ops;
    for (size_t i = 0; i < 7; ++i) ops[i].lane = lane;
    EXPECT_TRUE(ops.cut(64, lane)[0].recordable);
    ops.hand.plan.request.pinned_host = false;
    EXPECT_EQ(ops.cut(64, lane)[0].recordable, lane == Lane::compute);
  }
}

TEST(Segments, EndBeforeAnOpThatWaitsAndBehindOneThatIsWaitedFor) {
  Clears ops;
  ops.hand.clear(0, Lane::reduce).waits = {{Lane::compute, 3}};
  ops[5].waits = {{Lane::reduce, 1}};
  const std::vector<Segment> cut = ops.cut();
  EXPECT_THAT(counts(cut), ElementsAre(3, 2, 2));
  EXPECT_TRUE(cut[0].awaited);
  EXPECT_FALSE(cut[1].awaited);
  EXPECT_THAT(cut[2].waits, ElementsAre(plan::Wait{Lane::reduce, 1}));
  EXPECT_TRUE(ops.cut(64, Lane::reduce)[0].awaited);
}

TEST(Segments, EndWhereALoopBeginsAndEnds) {
  Clears ops;
  ops.hand.plan.bodies[kStep].loop = {.begin = 2, .end = 5, .rounds = 2, .micro_batches = 1};
  EXPECT_THAT(counts(ops.cut()), ElementsAre(2, 3, 2));
}

TEST(Segments, KeepCollectivesAndDisksByThemselves) {
  Clears ops;
  ops[2].kind = Kind::all_reduce;
  ops[4].kind = Kind::disk_read;
  const std::vector<Segment> cut = ops.cut();
  // Three phases too: a sum of gradients, and what is read from disk.
  EXPECT_THAT(counts(cut), ElementsAre(2, 1, 1, 1, 2));
  EXPECT_FALSE(cut[1].recordable);
  EXPECT_FALSE(cut[1].on_host);
  EXPECT_TRUE(cut[3].on_host);
}

// It runs on the host's threads, which know no stream.
TEST(Segments, OfTheHostsOptimizerAreOneOpEachOfTheHost) {
  Clears ops;
  for (int i = 0; i < 3; ++i) ops.hand.clear(0, Lane::host_optimizer);
  const std::vector<Segment> cut = ops.cut(64, Lane::host_optimizer);
  EXPECT_THAT(counts(cut), ElementsAre(1, 1, 1));
  for (const Segment& segment : cut) {
    EXPECT_TRUE(segment.on_host);
    EXPECT_FALSE(segment.recordable);
  }
}

TEST(Segments, RefuseAWaitForAnOpThatIsNotThere) {
  Clears ops;
  ops.hand.clear(0, Lane::reduce).waits = {{Lane::compute, 8}};
  EXPECT_THROW(ops.cut(), Error);
}

bool loops(const plan::Body& body, const plan::PlanOp& op) {
  const auto place = &op - body.ops.data();
  return body.loop.begin <= place && place < body.loop.end;
}

/// Whether each round of a loop has other bytes for the op, or draws other elements to drop.
bool varies(const plan::Plan& plan, const plan::Body& body, const plan::PlanOp& op) {
  for (const plan::Operand& operand : op.operands) {
    if (operand.stride != 0) return true;
  }
  if (op.kind != Kind::compute || !loops(body, op)) return false;
  const graph::Graph& graph = plan.graphs[size_t(body.graph)];
  const graph::Op& of = graph.ops[size_t(op.graph_op)];
  return of.kind->draws(graph, of) > 0;
}

/// Why one segment ends and the next begins.
bool must_part(const plan::Plan& plan, BodyId body, const Segment& before, const Segment& after,
               const std::vector<const plan::PlanOp*>& ops) {
  const plan::PlanOp &last = *ops[size_t(before.end()) - 1], &next = *ops[size_t(after.first)];
  const auto alone = [](const plan::PlanOp& op) {
    return plan::is_collective(op.kind) || op.lane == Lane::host_optimizer ||
           op.kind == Kind::disk_read || op.kind == Kind::disk_write;
  };
  const plan::Body& of = plan.bodies[body];
  if (loops(of, last) != loops(of, next)) return true;
  if (varies(plan, of, last) || varies(plan, of, next)) return true;
  return before.count == kRecordedOps || before.awaited || !after.waits.empty() || alone(last) ||
         alone(next) || phase_of(plan, body, last) != phase_of(plan, body, next);
}

void check_lane(const plan::Plan& plan, BodyId body, Lane lane) {
  std::vector<const plan::PlanOp*> ops;
  for (const plan::PlanOp& op : plan.bodies[body].ops) {
    if (op.lane == lane) ops.push_back(&op);
  }
  const std::vector<Segment> cut = segments_of(plan, body, lane, kRecordedOps);
  int32_t place = 0;
  for (size_t i = 0; i < cut.size(); ++i) {
    EXPECT_EQ(cut[i].first, place);
    EXPECT_EQ(cut[i].waits, ops[size_t(place)]->waits);
    EXPECT_EQ(&plan.bodies[body].ops[size_t(cut[i].op)], ops[size_t(place)]);
    for (++place; place < cut[i].end(); ++place) {
      EXPECT_FALSE(varies(plan, plan.bodies[body], *ops[size_t(place)]));
      EXPECT_EQ(loops(plan.bodies[body], *ops[size_t(place)]),
                loops(plan.bodies[body], *ops[size_t(cut[i].first)]));
      EXPECT_TRUE(ops[size_t(place)]->waits.empty());
      EXPECT_EQ(phase_of(plan, body, *ops[size_t(place)]),
                phase_of(plan, body, *ops[size_t(cut[i].first)]));
    }
    EXPECT_TRUE(i == 0 || must_part(plan, body, cut[i - 1], cut[i], ops));
  }
  EXPECT_EQ(place, int32_t(ops.size()));
}

TEST(Segments, CoverEveryLaneOfAnyPlanAndPartOnlyWhereTheyMust) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    const plan::Request request =
        seed % 2 ? testing::random_tiered_request(seed) : testing::random_request(seed);
    const plan::Plan plan = testing::tiny_plan(request, testing::random_model(seed));
    for (int body = 0; body < plan::kBodies; ++body) {
      for (int lane = 0; lane < plan::kLanes; ++lane) check_lane(plan, BodyId(body), Lane(lane));
    }
  }
}

}  // namespace
}  // namespace zero::run
