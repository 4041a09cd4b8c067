// Ranks: 1
#include "src/advise/change_levels.hpp"

#include <gtest/gtest.h>

#include "tests/advise/sixteen_samples.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"

namespace zero::advise {
namespace {

/// Evaluates as many samples at a time as it trains.
RunConfig evaluated() {
  RunConfig config = sixteen_samples();
  config.data.validation_fraction = 0.5;
  return config;
}

std::string second_level(const RunConfig& config) {
  return words_of(micro_levels(config, resolve_batch(config, 1))[1]);
}

TEST(MicroLevels, BeginWithEvaluationsThatMayTakeMoreThanTheTraining) {
  RunConfig config = evaluated();
  EXPECT_EQ(second_level(config), "train_micro_batch_size_per_gpu=8") << "they take less";
  config.evaluation.micro_batch_size = 17;
  EXPECT_EQ(second_level(config), "evaluation.micro_batch_size=1");
  config.evaluation = {.micro_batch_size = 2, .generate = true};
  EXPECT_EQ(second_level(config), "evaluation.micro_batch_size=1") << "they write texts";
  config.evaluation = {.micro_batch_size = 2, .show_samples = 1};
  EXPECT_EQ(second_level(config), "evaluation.micro_batch_size=1") << "so do samples";
  config.evaluation.micro_batch_size = 1;
  EXPECT_EQ(second_level(config), "train_micro_batch_size_per_gpu=8");
  config.data.validation_fraction = 0;
  config.evaluation.micro_batch_size = 0;
  EXPECT_EQ(second_level(config), "train_micro_batch_size_per_gpu=8") << "there are none";
}

TEST(MicroLevels, GiveTextsTheRoomTheyNeedAndNoMore) {
  RunConfig config = evaluated();
  config.evaluation.generate = true;
  setup::World world{.ranks = 1};
  world.texts = [](const RunConfig&, const setup::Build& build) {
    return std::vector<setup::Texts>{{"evaluation.generate", {build.evaluation_micro << 40, 0, 0}}};
  };
  const int64_t arena = setup::build(config, world).plan.arena_bytes[size_t(plan::Tier::device)];
  const MemoryLimit limit{.bytes = arena + (int64_t(5) << 40), .source = "device"};
  const auto change = cheapest_change(config, world, fits_in(limit), 1);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->text, "evaluation.micro_batch_size=5");
}

TEST(StateLevels, EnlargeGroupsOnlyAsFarAsNeeded) {
  RunConfig config = sixteen_samples();
  config.train_micro_batch_size_per_gpu = 2;
  config.zero.stage = 3;
  config.zero.shard_group = 2;
  const auto change_to = [&](int least) {
    const auto change = cheapest_change(config, {.ranks = 8}, [&](const setup::Build& build) {
      return build.plan.request.groups().group_ranks >= least;
    });
    return change ? change->text : "none";
  };
  EXPECT_EQ(change_to(4), "zero.shard_group=4");
  EXPECT_EQ(change_to(8), "zero.shard_group=all");
}

}  // namespace
}  // namespace zero::advise
