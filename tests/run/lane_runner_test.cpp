// Ranks: 1
#include "src/run/lane_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/support/hand_plan.hpp"
#include "tests/support/recording_device.hpp"
#include "tests/support/tiny_plans.hpp"
#include "zero/base/error.hpp"
#include "zero/graph/operations.hpp"

namespace zero::run {
namespace {

using plan::BodyId;
using plan::kLanes;
using plan::kStep;
using plan::Tier;
using testing::Forgetting;

/// One that only says what it needs.
class OneOrder final : public comm::Communicator {
 public:
  int rank() const override { return 0; }
  int ranks() const override { return 2; }
  std::string_view backend() const override { return "none"; }
  bool needs_one_order() const override { return true; }
  void all_gather(Stream&, Dtype, const comm::Piece&, const void*, void*) override {}
  void reduce_scatter(Stream&, const Reduction&, const comm::Piece&, const void*, void*) override {}
  void all_reduce(Stream&, std::span<int64_t>) override {}
  void broadcast(Stream&, std::span<std::byte>, int) override {}
  void barrier() override {}
};

/// Lets the lane that reduces come late.
void queue_late(const BoundOp& op, const LaneTools& tools) {
  if (op.op->lane == plan::Lane::reduce) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  testing::queue_op(op, tools);
}

/// The lanes of a plan as an executor makes them, on a device that only remembers.
class Lanes {
 public:
  Lanes(const plan::Plan& plan, int32_t most) : Lanes(plan, make_segments(plan, most)) {}
  Lanes(const plan::Plan& plan, std::array<LaneSegments, kLanes> segments,
        comm::Communicator* comm = nullptr, BoundOp::Function function = testing::queue_op)
      : function_(function) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      LaneSetup setup{.lane = plan::Lane(lane),
                      .threads = 1,
                      .comms = comm,
                      .disk = nullptr,
                      .rows = 1,
                      .ops = {},
                      .segments = std::move(segments[lane])};
      for (int body = 0; body < plan::kBodies; ++body) add_ops(plan, BodyId(body), setup);
      runners_[lane] = std::make_unique<LaneRunner>(crew_, std::move(setup));
      if (lane != 0) runners_[lane]->launch();
    }
  }

  void run(BodyId body) {
    crew_.begin(body);
    for (size_t lane = 1; lane < kLanes; ++lane) runners_[lane]->begin(body);
    runners_[0]->run(body);
    for (size_t lane = 1; lane < kLanes; ++lane) runners_[lane]->finish();
    crew_.failure.rethrow();
  }
  int64_t finished() const {
    int64_t sum = 0;
    for (const LaneProgress& lane : crew_.progress) sum += lane.finished;
    return sum;
  }

 private:
  void add_ops(const plan::Plan& plan, BodyId body, LaneSetup& setup) const {
    const std::vector<plan::PlanOp>& ops = plan.bodies[body].ops;
    for (size_t place = 0; place < ops.size(); ++place) {
      if (ops[place].lane != setup.lane) continue;
      BoundOp bound;
      bound.function = function_;
      bound.plan = &plan;
      bound.op = &ops[place];
      setup.ops[body].push_back({.bound = std::move(bound),
                                 .place = int32_t(place),
                                 .row = 0,
                                 .phase = phase_of(plan, body, ops[place])});
    }
  }

  BoundOp::Function function_;
  Crew crew_;
  std::array<std::unique_ptr<LaneRunner>, kLanes> runners_;
};

std::vector<std::string> faults_of(Lanes& lanes, const plan::Plan& plan, BodyId body, bool records,
                                   const Forgetting& forgetting = {}) {
  testing::expect(plan, body, records, forgetting);
  lanes.run(body);
  return testing::faults();
}

/// Every body three times: op by op, recorded, from the recording; a loop may come so far in the
/// first.
void expect_no_fault(const plan::Plan& plan, int32_t most) {
  Lanes lanes(plan, most);
  for (int body = 0; body < plan::kBodies; ++body) {
    for (int turn = 0; turn < 3; ++turn) {
      SCOPED_TRACE(text(plan.bodies[size_t(body)].name, " at most ", most, ", turn ", turn));
      EXPECT_EQ(faults_of(lanes, plan, BodyId(body), most > 1), std::vector<std::string>{});
      if (plan.bodies[size_t(body)].loop.is_there()) continue;
      const testing::DeviceCalls calls = testing::device_calls();
      EXPECT_TRUE(calls.replayed == 0 || (turn > 0 && most > 1));
      EXPECT_TRUE(calls.recorded == 0 || turn == 1);
    }
  }
}

plan::Plan plan_of(int stage, Tier weights, Tier optimizer, int ranks = 2) {
  plan::Request request;
  request.stage = stage;
  request.ranks = ranks;
  request.micro_batches = 2;
  request.weight_home = weights;
  request.optimizer_home = optimizer;
  return testing::tiny_plan(request);
}

/// One with transfers, a disk and collectives on lanes of their own.
plan::Plan far_plan() { return plan_of(3, Tier::host, Tier::nvme); }

/// The same with a loop over micro-batches, or over pairs of them that a counter adds.
plan::Plan far_loop(bool reproducible = false) {
  plan::Request request{.stage = 3, .ranks = 2, .micro_batches = 19, .most_written = 4};
  request.reproducible = reproducible;
  request.weight_home = Tier::host;
  request.optimizer_home = Tier::nvme;
  plan::Plan plan = testing::tiny_plan(request);
  EXPECT_TRUE(plan.bodies[kStep].loop.is_there());
  return plan;
}

TEST(LaneRunner, HonoursEveryWaitOfALoop) {
  for (const bool reproducible : {false, true}) {
    for (const int32_t most : {1, kRecordedOps}) expect_no_fault(far_loop(reproducible), most);
  }
}

TEST(LaneRunner, HonoursEveryWaitOfEveryStageAndHome) {
  for (int stage = 0; stage <= 3; ++stage) {
    for (const Tier optimizer : {Tier::device, Tier::host, Tier::nvme}) {
      for (const Tier weights : {Tier::device, Tier::host, Tier::nvme}) {
        if (stage < 3 && weights != Tier::device) continue;
        if (stage < 1 && optimizer != Tier::device) continue;
        for (const int ranks : {1, 2}) {
          SCOPED_TRACE(text("stage ", stage, ", weights on ", int(weights), ", optimizer on ",
                            int(optimizer), ", ", ranks, " ranks"));
          const plan::Plan plan = plan_of(stage, weights, optimizer, ranks);
          for (const int32_t most : {1, 3, kRecordedOps}) expect_no_fault(plan, most);
        }
      }
    }
  }
}

TEST(LaneRunner, HonoursEveryWaitOfPlansDrawnAtRandom) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    const plan::Request request =
        seed % 2 ? testing::random_tiered_request(seed) : testing::random_request(seed);
    expect_no_fault(testing::tiny_plan(request, testing::random_model(seed)), kRecordedOps);
  }
}

TEST(LaneRunner, HonoursEveryWaitOfFusedOps) {
  for (const auto recompute : {graph::Recompute::none, graph::Recompute::full}) {
    plan::Request request{.stage = 3, .ranks = 2, .micro_batches = 2};
    request.weight_home = Tier::host;
    request.optimizer_home = Tier::nvme;
    const plan::Plan plan = testing::tiny_plan(request, {.recompute = recompute, .fused = true});
    const auto& ops = plan.graphs[0].ops;
    EXPECT_GT(std::ranges::count(ops, &graph::kLinearGelu, &graph::Op::kind), 0);
    for (const int32_t most : {1, 3, kRecordedOps}) expect_no_fault(plan, most);
  }
}

TEST(LaneRunner, ReplaysMostOfAStepFromRecordings) {
  const plan::Plan plan = plan_of(0, Tier::device, Tier::device, 1);
  Lanes lanes(plan, kRecordedOps);
  for (int turn = 0; turn < 3; ++turn) faults_of(lanes, plan, kStep, true);
  EXPECT_GT(testing::device_calls().replayed, int(plan.bodies[kStep].ops.size()) * 8 / 10);
  EXPECT_EQ(lanes.finished(), 3 * int64_t(plan.bodies[kStep].ops.size()));
}

TEST(LaneRunner, RecordsOnTheThreadThatHasRunTheOpsBefore) {
  const plan::Plan plan = plan_of(0, Tier::device, Tier::device, 1);
  Lanes lanes(plan, kRecordedOps);
  faults_of(lanes, plan, kStep, true);
  std::thread([&] { EXPECT_TRUE(faults_of(lanes, plan, kStep, true).empty()); }).join();
  EXPECT_EQ(testing::device_calls().recorded, 0);
}

/// Whether the collectives of a step come in the plan's order although one lane is late.
bool keeps_order(const plan::Plan& plan, comm::Communicator* comm) {
  Lanes lanes(plan, make_segments(plan, kRecordedOps), comm, queue_late);
  bool kept = true;
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_EQ(faults_of(lanes, plan, kStep, true), std::vector<std::string>{});
    const std::vector<int32_t> order = testing::queued_collectives();
    EXPECT_GT(order.size(), 20u);
    kept &= std::ranges::is_sorted(order);
  }
  return kept;
}

/// One whose gathers and reductions take turns, as little is gathered ahead.
plan::Plan mixed_plan(Tier optimizer) {
  plan::Request request;
  request.stage = 3;
  request.ranks = 2;
  request.optimizer_home = optimizer;
  request.prefetch_numel = 1;
  request.live_numel = 15'000;
  request.reduce_bucket_numel = request.gather_bucket_numel = 1000;
  testing::TinyModel model;
  model.gpt2.layers = 6;
  return testing::tiny_plan(request, model);
}

TEST(LaneRunner, CollectivesThatCouldWaitForEachOtherComeInThePlansOrder) {
  OneOrder comm;
  for (const Tier optimizer : {Tier::device, Tier::host, Tier::nvme}) {
    SCOPED_TRACE(text("optimizer on ", int(optimizer)));
    EXPECT_TRUE(keeps_order(mixed_plan(optimizer), &comm));
  }
}

// From here on: that these tests can fail.

TEST(LaneRunner, CollectivesInNoOrderAreSeen) {
  EXPECT_FALSE(keeps_order(mixed_plan(Tier::device), nullptr));
}

TEST(LaneRunner, AHoldThatIsForgottenIsAFault) {
  for (const plan::Plan& plan : {far_plan(), far_loop(), far_loop(true)}) {
    for (const int turns : {0, 2}) {
      Lanes lanes(plan, kRecordedOps);
      for (int turn = 0; turn < turns; ++turn) faults_of(lanes, plan, kStep, true);
      EXPECT_TRUE(faults_of(lanes, plan, kStep, true).empty());
      const int holds = testing::device_calls().holds;
      ASSERT_GT(holds, 30);
      for (int hold = 0; hold < holds; ++hold) {
        EXPECT_FALSE(faults_of(lanes, plan, kStep, true, {.hold = hold}).empty()) << hold;
      }
    }
  }
}

/// Without a loop, which records an event in each round that only an op behind it holds for.
TEST(LaneRunner, AnEventThatIsNotRecordedIsAFault) {
  const plan::Plan plan = far_plan();
  Lanes lanes(plan, kRecordedOps);
  EXPECT_TRUE(faults_of(lanes, plan, kStep, true).empty());
  const int records = testing::device_calls().records;
  ASSERT_GT(records, 30);
  for (int record = 0; record < records; ++record) {
    EXPECT_FALSE(faults_of(lanes, plan, kStep, true, {.record = record}).empty()) << record;
  }
}

TEST(LaneRunner, ADiskThatDoesNotWaitForTheStreamIsAFault) {
  const plan::Plan plan = far_plan();
  std::array<LaneSegments, kLanes> segments = make_segments(plan, kRecordedOps);
  int waiting = 0;
  for (LaneSegment& segment : segments[size_t(plan::Lane::disk_write)][kStep].segments) {
    waiting += segment.cut.on_host && !segment.holds.empty();
    segment.cut.on_host = false;
  }
  ASSERT_GT(waiting, 0);
  Lanes lanes(plan, std::move(segments));
  EXPECT_GE(faults_of(lanes, plan, kStep, true).size(), size_t(waiting));
}

TEST(LaneRunner, WorkThatNobodyWaitsForIsAFault) {
  testing::HandPlan hand;
  hand.clear(hand.keep("a", 8));
  hand.plan.bodies[kStep].ops[0].index = 0;
  BoundOp bound;
  bound.op = &hand.plan.bodies[kStep].ops[0];
  Stream stream(1);
  testing::expect(hand.plan, kStep, false);
  testing::queue_op(bound, {.stream = stream, .comm = nullptr});
  EXPECT_EQ(testing::faults().size(), 1u);
  stream.wait();
  EXPECT_TRUE(testing::faults().empty());
}

TEST(LaneRunner, ASegmentThatSwallowsAWaitIsAFault) {
  const plan::Plan plan = far_plan();
  std::array<LaneSegments, kLanes> segments = make_segments(plan, kRecordedOps);
  std::vector<LaneSegment>& gather = segments[size_t(plan::Lane::gather)][kStep].segments;
  const auto waiting = std::find_if(gather.begin() + 1, gather.end(),
                                    [](const LaneSegment& one) { return !one.cut.waits.empty(); });
  ASSERT_NE(waiting, gather.end());
  waiting->cut.waits.clear();
  waiting->holds.clear();
  Lanes lanes(plan, std::move(segments));
  EXPECT_FALSE(faults_of(lanes, plan, kStep, true).empty());
}

}  // namespace
}  // namespace zero::run
