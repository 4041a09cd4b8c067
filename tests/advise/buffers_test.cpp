// Ranks: 1
#include "src/advise/buffers.hpp"

#include <gtest/gtest.h>

#include "tests/support/models.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/compile/compile.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {
namespace {

constexpr state::World kAlone{.ranks = 1};

/// A model of 21 units, with states on disk.
RunConfig on_disk(int64_t buffers = 0) {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", 20}, {"width", 64}, {"heads", 2}}, .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 32;
  config.run.steps = 1;
  config.train_batch_size = 1;
  config.zero.stage = 1;
  config.offload_optimizer = {.device = Home::nvme, .nvme_path = "disk", .buffer_count = buffers};
  return config;
}

plan::Machine unmeasured() { return plan::machine_profile("host", Dtype::f32); }

MemoryLimit limit_with(int64_t buffers) {
  const state::Build build = state::build(on_disk(buffers), kAlone);
  return {.bytes = build.plan.arena_bytes[size_t(plan::Tier::device)],
          .source = "memory.device_limit",
          .host_bytes = host_bytes(build),
          .host_source = "memory.host_limit"};
}

/// Limits that the user has given are used to the last byte.
RunConfig limited() {
  RunConfig config = on_disk();
  config.memory.host_limit = 1;
  return config;
}

TEST(Buffers, AreThoseThatWereAskedFor) {
  EXPECT_FALSE(chooses_buffers(on_disk(3)));
  EXPECT_EQ(choose_buffers(on_disk(3), kAlone, {}, unmeasured()), 3);
  RunConfig nowhere = on_disk();
  nowhere.offload_optimizer.device = Home::none;
  EXPECT_FALSE(chooses_buffers(nowhere));
}

TEST(Buffers, AreAsManyAsHideADiskAsSlowAsComputeWhereMemoryHoldsThem) {
  const int64_t buffers = choose_buffers(on_disk(), kAlone, {}, unmeasured());
  EXPECT_GT(buffers, 2 * plan::kLeastStagedUnits);
  EXPECT_LT(buffers, 21);
  EXPECT_EQ(choose_buffers(limited(), kAlone, limit_with(buffers), unmeasured()), buffers);
}

TEST(Buffers, AreAsManyAsMemoryHoldsAndAtLeastOne) {
  for (int64_t buffers : {7, 2}) {
    EXPECT_EQ(choose_buffers(limited(), kAlone, limit_with(buffers), unmeasured()), buffers);
  }
  MemoryLimit little = limit_with(1);
  --little.host_bytes;
  EXPECT_EQ(choose_buffers(limited(), kAlone, little, unmeasured()), 1);
}

TEST(Buffers, AreToldWhereTheyWereChosen) {
  ConfigInput input;
  input.config = on_disk();
  input.origins["zero.offload_optimizer.buffer_count"] = "default";
  const Choices choices = buffer_choices(on_disk(), on_disk(9));
  EXPECT_EQ(choices_text(choices), "zero.offload_optimizer.buffer_count = \"auto\" is 9\n");
  EXPECT_TRUE(buffer_choices(on_disk(9), on_disk(9)).empty());
  note_choices(choices, input);
  EXPECT_EQ(input.origins.at("zero.offload_optimizer.buffer_count"), "default; chosen: 9");
}

}  // namespace
}  // namespace zero::advise
