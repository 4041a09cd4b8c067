// Ranks: 1
#include "src/run/disk_sums.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/run/bound_op.hpp"
#include "tests/support/faulty_engine.hpp"
#include "tests/support/rank_disk.hpp"
#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/device/arena.hpp"

namespace zero::run {
namespace {

using plan::Kind;
using plan::Tier;
using ::testing::HasSubstr;

/// All ops of a plan, bound, with their checksums handed over.
class Bound {
 public:
  explicit Bound(plan::Plan made) : plan_(std::move(made)) {
    RankMemory memory;
    for (const Tier tier : {Tier::device, Tier::host}) {
      arenas_.emplace_back(std::max<int64_t>(plan_.arena_bytes[size_t(tier)], 1));
      memory.base[size_t(tier)] = arenas_.back().data();
    }
    const BindTarget target{plan_, rules_, memory};
    for (const plan::Body& body : plan_.bodies) {
      for (const plan::PlanOp& op : body.ops) ops_.push_back(bind(target, body, op));
    }
    std::vector<BoundOp*> all;
    for (BoundOp& op : ops_) all.push_back(&op);
    hand_sums_over(all);
  }

  const std::vector<BoundOp>& ops() const { return ops_; }
  int64_t count(Kind kind, bool by_user) const {
    return std::count_if(ops_.begin(), ops_.end(), [&](const BoundOp& op) {
      return op.op->kind == kind && op.sums_by_user == by_user;
    });
  }

 private:
  plan::Plan plan_;
  Rules rules_{};
  std::vector<Arena> arenas_;
  std::vector<BoundOp> ops_;
};

plan::Request states_on_disk(Dtype compute) {
  return {.stage = 1, .compute = compute, .optimizer_home = Tier::nvme};
}

TEST(DiskSums, OfStatesAreAdams) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    for (const int staged : {1, 2, 4}) {
      plan::Request request = states_on_disk(compute);
      request.staged_units = staged;
      const Bound bound(testing::tiny_plan(request));
      EXPECT_GT(bound.count(Kind::disk_read, true), 0);
      EXPECT_EQ(bound.count(Kind::disk_read, false), 0);
      EXPECT_EQ(bound.count(Kind::disk_write, false), 0);
      for (const BoundOp& op : bound.ops()) {
        if (op.op->kind != Kind::update) continue;
        EXPECT_EQ(op.images.size(), compute == Dtype::f32 ? 2u : 3u);
      }
    }
  }
}

// A gather reads weights without a look at their checksums, and LAMB passes over its states twice.
TEST(DiskSums, OfWhatOthersUseTooStayWithTheDisk) {
  plan::Request request = states_on_disk(Dtype::bf16);
  request.optimizer = form_of({.type = OptimizerType::LAMB});
  EXPECT_EQ(Bound(testing::tiny_plan(request)).count(Kind::disk_read, true), 0);
  request = {.stage = 3, .compute = Dtype::bf16, .weight_home = Tier::nvme};
  const Bound weights(testing::tiny_plan(request));
  EXPECT_GT(weights.count(Kind::disk_read, false), 0);
}

TEST(DiskSums, AnotherUserOfAStateKeepsThemWithTheDisk) {
  plan::Plan plan = testing::tiny_plan(states_on_disk(Dtype::bf16));
  const int64_t all = Bound(plan).count(Kind::disk_write, true);
  std::vector<plan::PlanOp>& ops = plan.bodies[plan::kStep].ops;
  const auto write = std::find_if(
      ops.begin(), ops.end(), [](const plan::PlanOp& op) { return op.kind == Kind::disk_write; });
  plan::PlanOp clear = *write;
  clear.kind = Kind::clear;
  clear.operands = {write->operands[0]};
  ops.push_back(clear);
  EXPECT_LT(Bound(plan).count(Kind::disk_write, true), all);
}

/// What three steps and the last update say where one block is read with a bit turned round.
std::string said_after_strike(const plan::Plan& plan, uint32_t block) {
  const testing::Strike strike{.fault = testing::Fault::flipped, .block = block};
  testing::RankDisk disk(plan, ".",
                         std::make_unique<testing::FaultyEngine>(
                             aio::make_thread_engine({.depth = 4, .threads = 1}), strike));
  Executor executor(plan, testing::tiny_rules(plan.request.compute), {}, disk.lanes());
  try {
    for (int step = 1; step <= 3; ++step)
      executor.run(plan::kStep, testing::tiny_inputs(plan, step));
    executor.run(plan::kFinish, testing::tiny_inputs(plan, 4));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// What the last body reads ahead is for an update that does not come.
TEST(DiskSums, NoTurnedBitOfAnyReadIsMissed) {
  const plan::Plan plan = testing::tiny_plan(states_on_disk(Dtype::bf16));
  const uint32_t reads_of_a_body = 3 * uint32_t(plan.units.size());
  for (uint32_t block = 0; block < 4 * reads_of_a_body; ++block) {
    EXPECT_THAT(said_after_strike(plan, block),
                HasSubstr("reads back as other bytes than were written"))
        << "block " << block;
  }
}

}  // namespace
}  // namespace zero::run
