// Ranks: 1
#include <gtest/gtest.h>

#include <utility>

#include "src/machine/measured_steps.hpp"
#include "tests/support/lazy_communicator.hpp"
#include "tests/support/models.hpp"
#include "tests/support/rank_groups.hpp"
#include "tests/support/refusal.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/state/communicators.hpp"

namespace zero::train {
namespace {

using testing::FakeDevice;
using testing::LazyCommunicator;

constexpr int64_t kGiB = int64_t(1) << 30;
constexpr int kRanks = 2;

RunConfig tiny() {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", 2}, {"width", 64}, {"heads", 2}}, .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 16;
  config.run.steps = 1;
  config.train_micro_batch_size_per_gpu = 2;
  config.zero.stage = 2;
  return config;
}

/// One rank's way from its communicators to a step, on a device of `bytes`, where each lane takes a
/// GiB at its first verb.
class Start {
 public:
  Start(testing::Members& members, int64_t bytes) : device_(bytes) {
    for (auto& member : members) {
      comms_.all.push_back(std::make_unique<LazyCommunicator>(std::move(member), device_, kGiB));
    }
  }

  void warm_up() { state::warm_up(comms_); }
  void read_limit() {
    limit_ = advise::device_limit_from({.free = device_.free(), .used = device_.used()}, 1, {});
  }
  bool fits(const setup::Build& build) const { return advise::fits(build, limit_); }
  void require_fit(const setup::Build& build) const {
    const advise::PlanReport report =
        advise::report_plan(build, plan::machine_profile("host", Dtype::f32), limit_);
    advise::refuse_unless_fits(report, tiny(), {.ranks = kRanks}, {.most_ranks = kRanks});
  }
  void take_arena(const setup::Build& build) {
    device_.take(build.plan.arena_bytes[size_t(plan::Tier::device)]);
  }
  void step(const setup::Build& build) {
    machine::MeasuredSteps steps(build.plan, comms_.all[0]->rank(), comms_.lanes());
    steps.step();
    steps.finish();
  }
  const FakeDevice& device() const { return device_; }

 private:
  FakeDevice device_;
  state::Communicators comms_;
  advise::MemoryLimit limit_;
};

void on_every_rank(int64_t bytes, const std::function<void(Start&)>& body) {
  testing::as_threads(kRanks, 3, [&](testing::Members& members) {
    Start start(members, bytes);
    body(start);
  });
}

/// What libraries take, three lanes' communicators and the plan.
int64_t just_enough(const setup::Build& build) {
  return kGiB + 3 * kGiB + build.plan.arena_bytes[size_t(plan::Tier::device)];
}

TEST(PlanAtItsLimit, RunsBesideMemoryThatCommunicatorsTakeLate) {
  const setup::Build build = setup::build(tiny(), {.ranks = kRanks});
  on_every_rank(just_enough(build), [&](Start& start) {
    start.warm_up();
    EXPECT_EQ(start.device().used(), 3 * kGiB);
    start.read_limit();
    start.require_fit(build);
    start.take_arena(build);
    start.step(build);
    EXPECT_EQ(start.device().free(), kGiB) << "no step takes any";
  });
}

TEST(PlanAtItsLimit, IsRefusedBeforeItsFirstStepWhereAByteIsMissing) {
  const setup::Build build = setup::build(tiny(), {.ranks = kRanks});
  on_every_rank(just_enough(build) - 1, [&](Start& start) {
    start.warm_up();
    start.read_limit();
    EXPECT_NE(testing_support::refusal_of(Exit::kDoesNotFit, [&] { start.require_fit(build); }),
              "");
  });
}

TEST(PlanAtItsLimit, WouldDieInAStepIfTheLimitWereReadBefore) {
  const setup::Build build = setup::build(tiny(), {.ranks = kRanks});
  EXPECT_THROW(on_every_rank(just_enough(build) - 2 * kGiB,
                             [&](Start& start) {
                               start.read_limit();
                               start.require_fit(build);
                               start.take_arena(build);
                               start.step(build);
                             }),
               Error);
}

}  // namespace
}  // namespace zero::train
