// Ranks: 1
// Where zero.offload_optimizer.speculate takes memory for second copies.

#include "src/advise/speculation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/models.hpp"
#include "zero/advise/placement.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {
namespace {

using ::testing::HasSubstr;

const setup::World kAlone{.ranks = 1};

/// Nine units whose states rest on the host.
RunConfig asked(std::optional<bool> speculate) {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", 8}, {"width", 64}, {"heads", 2}}, .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 32;
  config.run.steps = 1;
  config.train_batch_size = 1;
  config.zero.stage = 1;
  config.offload_optimizer.device = Home::cpu;
  config.offload_optimizer.speculate = speculate;
  return config;
}

/// A GPU whose backward pass takes about as long as the host's updates, behind a slow link.
plan::Machine gpu() {
  return {.name = "test",
          .product_flops = 1e11,
          .has_memory = true,
          .memory_bandwidth = 1e12,
          .host_bandwidth = 2e10,
          .host_is_measured = true,
          .copy_bandwidth = 5e9};
}

/// Returns a GPU whose link is fast enough to update some units on the device.
plan::Machine updating_gpu() {
  plan::Machine machine = gpu();
  machine.copy_bandwidth = 2e10;
  return machine;
}

int speculated(const Placement& placement) {
  return plan::update_sites(placement.build.plan).speculated;
}

double step_seconds(const Placement& placement) {
  return plan::forecast(placement.build.plan, gpu()).step_seconds;
}

TEST(ChooseSpeculation, OfAutoTakesItWhereAGpusStepIsShorter) {
  const Placement without = choose_placement(asked(false), kAlone, {}, gpu());
  const Placement with = choose_placement(asked(std::nullopt), kAlone, {}, gpu());
  EXPECT_EQ(speculated(without), 0);
  EXPECT_GT(speculated(with), 0);
  EXPECT_LE(step_seconds(with), 0.95 * step_seconds(without));
  EXPECT_THAT(with.text(), HasSubstr("updates before the norm is known"));
  EXPECT_THAT(plan_json(report_plan(with.build, gpu(), {})),
              HasSubstr(text("\"before_the_norm\": ", speculated(with))));
}

TEST(ChooseSpeculation, OfAutoLeavesPlansOfHostsAndOfFastHostsAlone) {
  const plan::Machine host = plan::machine_profile("host", Dtype::f32);
  const Placement of_host = choose_placement(asked(std::nullopt), kAlone, {}, host);
  EXPECT_EQ(of_host.build.plan.hash(),
            choose_placement(asked(false), kAlone, {}, host).build.plan.hash());
  plan::Machine fast = gpu();
  fast.host_bandwidth = fast.copy_bandwidth = 1e14;
  EXPECT_EQ(speculated(choose_placement(asked(std::nullopt), kAlone, {}, fast)), 0);
}

MemoryLimit host_limit(int64_t bytes) {
  return {.bytes = 0, .source = "", .host_bytes = bytes, .host_source = "memory.host_limit"};
}

int64_t host_of(const Placement& placement) {
  return placement.build.plan.arena_bytes[size_t(plan::Tier::host)];
}

TEST(ChooseSpeculation, OfAutoTakesWhatHostMemoryHas) {
  const Placement least = choose_placement(asked(false), kAlone, {}, gpu());
  const Placement most = choose_placement(asked(std::nullopt), kAlone, {}, gpu());
  const MemoryLimit none = host_limit(host_of(least) + 4096);
  EXPECT_EQ(choose_placement(asked(std::nullopt), kAlone, none, gpu()).build.plan.hash(),
            choose_placement(asked(false), kAlone, none, gpu()).build.plan.hash());
  const MemoryLimit some = host_limit((host_of(least) + host_of(most)) / 2);
  const Placement part = choose_placement(asked(std::nullopt), kAlone, some, gpu());
  EXPECT_TRUE(fits(part.build, some));
  EXPECT_LT(speculated(part), speculated(most));
}

int on_device(const Placement& placement) {
  return plan::update_sites(placement.build.plan).on_device;
}

int64_t device_of(const Placement& placement) {
  return placement.build.plan.arena_bytes[size_t(plan::Tier::device)];
}

TEST(ChooseSpeculation, LeavesUpdatesOnTheDeviceOutForWhichItHasNoRoom) {
  const Placement most = choose_placement(asked(true), kAlone, {}, updating_gpu());
  ASSERT_GT(on_device(most), 1);
  const MemoryLimit tight{.bytes = device_of(most) - 4096, .source = "memory.device_limit"};
  const Placement part = choose_placement(asked(true), kAlone, tight, updating_gpu());
  EXPECT_TRUE(fits(part.build, tight));
  EXPECT_GT(speculated(part), 0);
  EXPECT_LT(on_device(part), on_device(most));
}

TEST(ChooseSpeculation, OfTrueIsDoneOnAHostTooOrRefused) {
  const plan::Machine host = plan::machine_profile("host", Dtype::f32);
  const Placement with = choose_placement(asked(true), kAlone, {}, host);
  EXPECT_GT(speculated(with), 0);
  const Placement without = choose_placement(asked(false), kAlone, {}, host);
  const MemoryLimit tight = host_limit(host_of(without) + 4096);
  try {
    choose_placement(asked(true), kAlone, tight, host);
    FAIL() << "there is no room";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kDoesNotFit);
    EXPECT_THAT(error.what(), HasSubstr("write speculate = \"auto\""));
  }
}

TEST(ChooseSpeculation, OfTrueIsRefusedWhereHomesOfAutoLeaveItNoWay) {
  RunConfig config = asked(true);
  config.zero.stage = 3;
  config.offload_param.device = Home::cpu;
  EXPECT_THROW(choose_placement(config, kAlone, {}, gpu()), Error);
  config = asked(true);
  config.offload_optimizer.device = Home::none;
  EXPECT_EQ(speculated(choose_placement(config, kAlone, {}, gpu())), 0);
}

}  // namespace
}  // namespace zero::advise
