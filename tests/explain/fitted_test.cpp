// Ranks: 1
#include "src/explain/fitted.hpp"

#include <gtest/gtest.h>

#include "tests/support/models.hpp"
#include "zero/run/executor.hpp"
#include "zero/setup/build.hpp"

namespace zero::explain {
namespace {

using plan::Lane;

/// A plan of two ranks with states on the host.
setup::Build two_ranks() {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", 4}, {"width", 64}, {"heads", 2}}, .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 32;
  config.run.steps = 1;
  config.train_batch_size = 8;
  config.train_micro_batch_size_per_gpu = 2;
  config.zero.stage = 2;
  config.offload_optimizer.device = Home::cpu;
  return setup::build(config, {.ranks = 2});
}

/// A slow machine with a fast link, whose kinds reach unlike shares of its rates.
plan::Machine truth() {
  plan::Machine machine{.name = "truth", .product_flops = 3e9, .memory_bandwidth = 4e8};
  machine.kind_shares = {{"linear", 0.5}, {"layernorm", 0.2}};
  machine.op_seconds = 2e-6;
  machine.link_bandwidth = 7e7;
  machine.copy_bandwidth = 3e8;
  machine.host_bandwidth = 5e8;
  return machine;
}

/// Returns what a run on a machine measures of its steps, if it lasts so long.
report::Measured measured_on(const plan::Machine& machine, const plan::Plan& plan,
                             double slower_first_steps) {
  report::Measured measured{.ranks = 2, .phases = {}, .kinds = {}, .lanes = {}};
  const plan::Forecast step = plan::forecast(plan, machine);
  measured.step_seconds = step.step_seconds;
  double busy = 0;
  for (const auto& [name, kind] : plan::kinds_of(plan, machine)) {
    measured.kinds[name] = {slower_first_steps * 10 * kind.seconds, 10 * kind.calls};
    busy += kind.seconds;
  }
  for (int lane = 1; lane < plan::kLanes; ++lane) {
    const double seconds = step.lane_seconds[size_t(lane)];
    measured.lanes[plan::name_of(Lane(lane))] = slower_first_steps * seconds;
    busy += seconds;
  }
  measured.phases["forward"] = busy;
  return measured;
}

TEST(FittedMachine, ForecastsTheStepThatWasMeasured) {
  const setup::Build build = two_ranks();
  const plan::Forecast step = plan::forecast(build.plan, truth());
  const report::Measured measured = measured_on(truth(), build.plan, 1.5);
  const plan::Machine fitted = fitted_machine({.name = "host"}, build.plan, measured);
  const plan::Forecast again = plan::forecast(build.plan, fitted);
  // A collective's latency is fitted as a part of its time.
  EXPECT_NEAR(again.step_seconds, step.step_seconds, 0.02 * step.step_seconds);
  for (size_t lane = 0; lane < step.lane_seconds.size(); ++lane)
    EXPECT_NEAR(again.lane_seconds[lane], step.lane_seconds[lane], 0.02 * step.step_seconds)
        << plan::name_of(Lane(lane));
}

TEST(FittedMachine, GivesKindsThatTheRunLacksTheRatesOfThoseItHas) {
  const setup::Build build = two_ranks();
  const plan::Machine fitted =
      fitted_machine({.name = "host"}, build.plan, measured_on(truth(), build.plan, 1));
  EXPECT_LT(fitted.product_flops, 3.1e9) << "products are slower than the guess of 1e11";
  EXPECT_GT(fitted.product_flops, 5e8);
  EXPECT_LT(fitted.memory_bandwidth, 4.1e8);
  EXPECT_EQ(fitted.host_bandwidth, fitted.memory_bandwidth) << "a host's device is the host";
  EXPECT_TRUE(fitted.lane_shares.contains(Lane::h2d)) << "states are copied";
  EXPECT_FALSE(fitted.lane_shares.contains(Lane::disk_read)) << "no disk was measured";
}

TEST(FittedMachine, GoesByPhasesIfNoSummaryTellsKinds) {
  const setup::Build build = two_ranks();
  const plan::Forecast step = plan::forecast(build.plan, truth());
  report::Measured measured = measured_on(truth(), build.plan, 1);
  measured.kinds.clear();
  measured.lanes.clear();
  double links = 0, updates = 0, graph = 0, sums = 0;
  for (const auto& [name, kind] : plan::kinds_of(build.plan, truth())) {
    const bool is_sum = name == "accumulate" || name == "clear" || name == "round_sum";
    const bool is_update = name == "decide" || name == "sum_of_squares";
    (is_sum ? sums : is_update ? updates : graph) += kind.seconds;
  }
  for (int lane = 1; lane < plan::kLanes; ++lane) {
    const bool is_link = Lane(lane) == Lane::gather || Lane(lane) == Lane::reduce;
    (is_link ? links : updates) += step.lane_seconds[size_t(lane)];
  }
  measured.phases = {{"forward", graph / 3},
                     {"backward", graph * 2 / 3},
                     {"reduce", links / 2 + sums},
                     {"gather", links / 2},
                     {"optimizer", updates}};
  const plan::Machine fitted = fitted_machine({.name = "host"}, build.plan, measured);
  const plan::Forecast again = plan::forecast(build.plan, fitted);
  EXPECT_NEAR(again.step_seconds, step.step_seconds, 0.2 * step.step_seconds);
  const double sent =
      again.lane_seconds[size_t(Lane::gather)] + again.lane_seconds[size_t(Lane::reduce)];
  EXPECT_NEAR(sent, links, 0.25 * links);
}

}  // namespace
}  // namespace zero::explain
