// Ranks: 1
#include "zero/advise/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/models.hpp"
#include "zero/advise/plan_report.hpp"

namespace zero::advise {
namespace {

using ::testing::HasSubstr;

constexpr state::World kAlone{.ranks = 1};

/// A model of 9 units.
RunConfig with_states_on(Home home) {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", 8}, {"width", 64}, {"heads", 2}}, .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 32;
  config.run.steps = 1;
  config.train_batch_size = 1;
  config.zero.stage = 1;
  config.offload_optimizer.device = home;
  return config;
}

/// A machine whose host is far slower than the way to the device.
plan::Machine slow_host() {
  return {.name = "test",
          .product_flops = 1e12,
          .has_memory = true,
          .memory_bandwidth = 1e12,
          .host_bandwidth = 1e6,
          .copy_bandwidth = 1e12};
}

MemoryLimit device_limit(const state::Build& build) {
  return {.bytes = build.plan.arena_bytes[size_t(plan::Tier::device)],
          .source = "memory.device_limit",
          .host_bytes = 0,
          .host_source = ""};
}

TEST(Placement, StreamsStatesWhereTheHostIsSlowAndSaysSo) {
  const RunConfig asked = with_states_on(Home::cpu);
  const Placement placement = choose_placement(asked, kAlone, {}, slow_host());
  EXPECT_GE(placement.device_update_share, 0.875);
  const plan::UpdateSites sites = plan::update_sites(placement.build.plan);
  EXPECT_GE(sites.on_device, 7);
  EXPECT_EQ(sites.on_device + sites.on_host, 9);
  EXPECT_THAT(placement.text(), HasSubstr(text("beside the device: ", sites.on_device, " on it")));
  const PlanReport report = report_plan(placement.build, slow_host(), {});
  EXPECT_THAT(plan_json(report), HasSubstr(text("\"streamed_to_device\": ", sites.on_device)));
}

TEST(Placement, UpdatesOnTheHostWhereTheDeviceIsTheHost) {
  const RunConfig asked = with_states_on(Home::cpu);
  const Placement placement =
      choose_placement(asked, kAlone, {}, plan::machine_profile("host", Dtype::f32));
  EXPECT_EQ(placement.device_update_share, 0);
  EXPECT_EQ(plan::update_sites(placement.build.plan).on_host, 9);
  EXPECT_EQ(placement.build.plan.hash(), state::build(placement.config, kAlone).plan.hash());
  EXPECT_EQ(placement.text(), "zero.offload_optimizer.buffer_count = \"auto\" is 4\n");
}

TEST(Placement, StreamsNoMoreThanTheDeviceHolds) {
  const RunConfig asked = with_states_on(Home::cpu);
  Placement least = choose_placement(asked, kAlone, {}, slow_host());
  const MemoryLimit roomy = device_limit(least.build);
  EXPECT_EQ(choose_placement(asked, kAlone, roomy, slow_host()).device_update_share,
            least.device_update_share);
  MemoryLimit tight = roomy;
  --tight.bytes;
  const Placement less = choose_placement(asked, kAlone, tight, slow_host());
  EXPECT_LT(less.device_update_share, least.device_update_share);
  EXPECT_TRUE(fits(less.build, tight));
  tight = device_limit(state::build(least.config, kAlone));
  const Placement none = choose_placement(asked, kAlone, tight, slow_host());
  EXPECT_EQ(none.device_update_share, 0);
  EXPECT_TRUE(fits(none.build, tight));
}

TEST(Placement, ChoosesHomesBuffersAndSitesOneBehindTheOther) {
  RunConfig asked = with_states_on(Home::automatic);
  MemoryLimit limit = device_limit(state::build(with_states_on(Home::cpu), kAlone));
  ConfigInput input;
  input.config = asked;
  for (const char* key : {"zero.offload_optimizer.device", "zero.offload_optimizer.buffer_count"})
    input.origins[key] = "default";
  const Placement placement = choose_placement(asked, kAlone, limit, slow_host());
  EXPECT_EQ(placement.config.offload_optimizer.device, Home::cpu);
  EXPECT_EQ(placement.config.offload_optimizer.buffer_count, 4);
  EXPECT_TRUE(fits(placement.build, limit));
  EXPECT_THAT(placement.text(), HasSubstr("device = \"auto\" is \"cpu\""));
  note_choices(placement.choices, input);
  EXPECT_THAT(input.origins.at("zero.offload_optimizer.device"), HasSubstr("chosen: \"cpu\""));
  EXPECT_THAT(input.origins.at("zero.offload_optimizer.buffer_count"), HasSubstr("chosen: 4"));
}

}  // namespace
}  // namespace zero::advise
