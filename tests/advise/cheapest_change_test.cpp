// Ranks: 1
#include "zero/advise/cheapest_change.hpp"

#include <gtest/gtest.h>

#include "tests/advise/sixteen_samples.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"

namespace zero::advise {
namespace {

int64_t arena(const setup::Build& build) {
  return build.plan.arena_bytes[size_t(plan::Tier::device)];
}

TEST(CheapestChange, HalvesTheMicroBatchBeforeAllElse) {
  const auto change =
      cheapest_change(sixteen_samples(), {.ranks = 1},
                      [](const setup::Build& build) { return build.batch.micro <= 8; });
  ASSERT_TRUE(change);
  EXPECT_EQ(change->text, "train_micro_batch_size_per_gpu=8");
  const BatchSizes batch = resolve_batch(change->config, 1);
  EXPECT_EQ(batch.train, 16) << "the samples of a step stay";
  EXPECT_EQ(batch.accumulation, 2);
}

TEST(CheapestChange, EvaluatesNoLargerMicroBatchThanItTrains) {
  const auto halved = [](const setup::Build& build) { return build.batch.micro <= 8; };
  RunConfig config = sixteen_samples();
  config.evaluation.micro_batch_size = 9;
  const auto both = cheapest_change(config, {.ranks = 1}, halved);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->text, "train_micro_batch_size_per_gpu=8 evaluation.micro_batch_size=8");
  EXPECT_EQ(both->config.evaluation.micro_batch_size, 8);
  config.evaluation.micro_batch_size = 8;
  EXPECT_EQ(cheapest_change(config, {.ranks = 1}, halved)->text, "train_micro_batch_size_per_gpu=8")
      << "it fits already";
}

TEST(CheapestChange, GivesTheAccumulationWhereNothingElseFixesTheBatch) {
  RunConfig config = sixteen_samples();
  config.train_batch_size = 0;
  config.train_micro_batch_size_per_gpu = 4;
  const auto change = cheapest_change(
      config, {.ranks = 1}, [](const setup::Build& build) { return build.batch.micro == 1; });
  ASSERT_TRUE(change);
  EXPECT_EQ(change->text, "train_micro_batch_size_per_gpu=1 gradient_accumulation_steps=4");
}

TEST(CheapestChange, RaisesTheStageOnlyAsFarAsNeeded) {
  const auto change =
      cheapest_change(sixteen_samples(), {.ranks = 2},
                      [](const setup::Build& build) { return build.plan.request.stage >= 2; });
  ASSERT_TRUE(change);
  EXPECT_EQ(change->text, "zero.stage=2");
}

TEST(CheapestChange, AddsRanksLast) {
  const auto change =
      cheapest_change(sixteen_samples(), {.ranks = 1},
                      [](const setup::Build& build) { return build.plan.request.ranks >= 4; });
  ASSERT_TRUE(change);
  EXPECT_EQ(change->text, "--ranks 4");
  EXPECT_EQ(change->ranks, 4);
}

TEST(CheapestChange, TriesNothingMoreBehindItsTime) {
  int tried = 0;
  const Fits never = [&](const setup::Build&) { return ++tried < 0; };
  SearchTime time{.seconds = 0};
  EXPECT_FALSE(cheapest_change(sixteen_samples(), {.ranks = 1}, never, 1024, &time));
  EXPECT_TRUE(time.has_ended);
  EXPECT_EQ(tried, 0);
  SearchTime enough{.seconds = 1e9};
  EXPECT_FALSE(cheapest_change(sixteen_samples(), {.ranks = 1}, never, 2, &enough));
  EXPECT_FALSE(enough.has_ended) << "that nothing fits is another answer";
  EXPECT_GT(tried, 0);
}

TEST(CheapestChange, AddsNoRanksBeyondTheMost) {
  const Fits on_four = [](const setup::Build& build) { return build.plan.request.ranks >= 4; };
  EXPECT_TRUE(cheapest_change(sixteen_samples(), {.ranks = 2}, on_four, 4));
  EXPECT_FALSE(cheapest_change(sixteen_samples(), {.ranks = 2}, on_four, 2));
}

TEST(CheapestChange, LeavesOutWhatDoesNotHelp) {
  const auto change =
      cheapest_change(sixteen_samples(), {.ranks = 2}, [](const setup::Build& build) {
        return build.plan.request.stage == 3 && build.plan.request.prefetch_numel == 0;
      });
  ASSERT_TRUE(change);
  EXPECT_EQ(change->text, "zero.stage=3 zero.stage3_prefetch_bucket_size=0");
}

TEST(CheapestChange, MovesStatesToTheHostBeforeItAddsRanks) {
  using plan::Tier;
  const auto states =
      cheapest_change(sixteen_samples(), {.ranks = 1}, [](const setup::Build& build) {
        return build.plan.request.optimizer_home == Tier::host || build.plan.request.ranks > 1;
      });
  ASSERT_TRUE(states);
  EXPECT_EQ(states->text, "zero.stage=1 zero.offload_optimizer.device=cpu");
  const auto all = cheapest_change(sixteen_samples(), {.ranks = 1}, [](const setup::Build& build) {
    const plan::Request& made = build.plan.request;
    return made.optimizer_home == Tier::host && made.weight_home == Tier::host;
  });
  ASSERT_TRUE(all);
  EXPECT_EQ(all->text,
            "zero.stage=3 zero.offload_optimizer.device=cpu zero.offload_param.device=cpu");
}

int64_t host(const setup::Build& build) { return host_bytes(build); }

/// States of six units in host memory, with more buffers than need be. The device has room for what
/// rests there now and a little more.
RunConfig on_host() {
  RunConfig config = sixteen_samples();
  config.model.numbers.counts["layers"] = 6;
  config.model.numbers.counts["width"] = 192;
  config.zero.stage = 3;
  config.zero.stage3_max_reuse_distance = 0;
  config.offload_optimizer.device = Home::cpu;
  config.offload_param.device = Home::cpu;
  config.train_batch_size = config.train_micro_batch_size_per_gpu = 1;
  return config;
}

Fits within(int64_t device, int64_t memory) {
  return fits_in(
      {.bytes = device, .source = "device", .host_bytes = memory, .host_source = "host"});
}

Fits as_lean_as(const RunConfig& config) {
  const setup::Build lean = setup::build(config, {});
  return within(arena(lean), host(lean));
}

std::string change_text(const RunConfig& config, const Fits& fits) {
  const auto change = cheapest_change(config, {}, fits, 1);
  return change ? change->text : "none";
}

TEST(CheapestChange, MovesStatesFromTheHostToADiskWhoseFolderTheUserNames) {
  RunConfig disk = on_host();
  disk.offload_optimizer = {.device = Home::nvme, .nvme_path = "d", .buffer_count = 1};
  const std::string optimizer =
      "zero.offload_optimizer.device=nvme zero.offload_optimizer.nvme_path=";
  const auto change = cheapest_change(on_host(), {}, as_lean_as(disk), 1);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->text, optimizer + "FOLDER");
  EXPECT_TRUE(change->names_folder);
  EXPECT_EQ(change->config.offload_optimizer.nvme_path, kFolderToName);

  disk.offload_param = {.device = Home::nvme, .nvme_path = "d"};
  EXPECT_EQ(
      change_text(on_host(), as_lean_as(disk)),
      optimizer + "FOLDER zero.offload_param.device=nvme zero.offload_param.nvme_path=FOLDER");
}

TEST(CheapestChange, LeavesParametersInHostMemoryWhereOnlyTheOptimizerNeedsADisk) {
  const Fits fits = [](const setup::Build& build) {
    const plan::Request& made = build.plan.request;
    return made.optimizer_home == plan::Tier::nvme && made.weight_home != plan::Tier::device;
  };
  EXPECT_EQ(change_text(sixteen_samples(), fits),
            "zero.stage=3 zero.offload_optimizer.device=nvme "
            "zero.offload_optimizer.nvme_path=FOLDER zero.offload_param.device=cpu");
}

TEST(CheapestChange, TakesTheFolderOfAnotherSection) {
  RunConfig disk = on_host();
  disk.offload_param = {.device = Home::nvme, .nvme_path = "/local"};
  disk.offload_optimizer.buffer_count = 1;
  const RunConfig asked = disk;
  disk.offload_optimizer = {.device = Home::nvme, .nvme_path = "/local", .buffer_count = 1};
  const auto change = cheapest_change(asked, {}, as_lean_as(disk), 1);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->text,
            "zero.offload_optimizer.device=nvme zero.offload_optimizer.nvme_path=/local");
  EXPECT_FALSE(change->names_folder);
}

TEST(CheapestChange, GivesAutoADiskWhereMemoryDoesNotDo) {
  RunConfig open = on_host();
  open.offload_optimizer.device = open.offload_param.device = Home::automatic;
  const Fits on_disk = [](const setup::Build& build) {
    const plan::Request& made = build.plan.request;
    return made.optimizer_home == plan::Tier::nvme && made.weight_home == plan::Tier::nvme;
  };
  EXPECT_EQ(change_text(open, on_disk),
            "zero.offload_optimizer.nvme_path=FOLDER zero.offload_param.nvme_path=FOLDER");
  open.offload_optimizer.nvme_path = "/local";
  EXPECT_EQ(change_text(open, on_disk), "zero.offload_param.nvme_path=/local");
}

TEST(CheapestChange, BringsNoMoreStatesBackThanTheHostLacksRoomFor) {
  const RunConfig all = on_host();
  RunConfig most = all;
  most.offload_optimizer.ratio = 0.5;
  most.offload_optimizer.buffer_count = 1;
  const Fits half = within(int64_t(1) << 40, host(setup::build(most, {})));
  const auto change = cheapest_change(all, {}, half, 1);
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->text.starts_with("zero.offload_optimizer.ratio=0.")) << change->text;
  RunConfig more = change->config;
  more.offload_optimizer.buffer_count = 1;
  EXPECT_TRUE(half(setup::build(more, {})));
  more.offload_optimizer.ratio += 1.0 / 32;
  EXPECT_FALSE(half(setup::build(more, {}))) << "a notch more does not fit";
}

TEST(CheapestChange, BringsParametersBackWhereTheDeviceHasRoom) {
  RunConfig asked = on_host();
  asked.offload_optimizer = {};
  const Fits no_host = within(int64_t(1) << 40, 1);
  EXPECT_EQ(change_text(asked, no_host), "zero.offload_param.device=none");
}

TEST(CheapestChange, TakesAsManyBuffersAsFit) {
  RunConfig asked = on_host();
  asked.offload_optimizer.buffer_count = 5;
  const auto at_most = [](int buffers) {
    return [=](const setup::Build& build) { return build.plan.request.staged_units <= buffers; };
  };
  EXPECT_EQ(change_text(asked, at_most(3)), "zero.offload_optimizer.buffer_count=3");
  EXPECT_EQ(change_text(asked, at_most(1)), "zero.offload_optimizer.buffer_count=1");
  asked.offload_optimizer.buffer_count = 0;
  EXPECT_EQ(change_text(asked, at_most(1)), "") << "auto comes to one by itself";
}

TEST(CheapestChange, KeepsNoCopyForSavesWhereThatIsWhatDoesNotFit) {
  RunConfig asked = on_host();
  asked.offload_optimizer.buffer_count = 1;
  const Fits without_copy = as_lean_as(asked);
  asked.checkpoint.async = true;
  asked.checkpoint.interval = 1;  // else synthetic data save nothing
  EXPECT_EQ(change_text(asked, without_copy), "checkpoint.async=false");
}

TEST(CheapestChange, MovesActivationsFromTheHostToADisk) {
  RunConfig config = sixteen_samples();
  config.model.numbers.counts["layers"] = 4;
  config.recompute.mode = Recompute::Mode::full;
  config.offload_activations.offload = Home::cpu;
  EXPECT_EQ(change_text(config,
                        [](const setup::Build& build) {
                          return build.plan.request.activation_home == plan::Tier::nvme;
                        }),
            "activation_checkpointing.offload=nvme activation_checkpointing.nvme_path=FOLDER");
}

TEST(CheapestChange, ReplacesTheOlderKeyForActivationsOnTheHost) {
  RunConfig config = sixteen_samples();
  config.model.numbers.counts["layers"] = 4;
  config.recompute.mode = Recompute::Mode::full;
  config.offload_activations.cpu_checkpointing = true;
  const auto change = cheapest_change(config, {.ranks = 1}, [](const setup::Build& build) {
    return build.plan.request.activation_home == plan::Tier::nvme;
  });
  ASSERT_TRUE(change);
  EXPECT_EQ(change->text,
            "activation_checkpointing.cpu_checkpointing=false "
            "activation_checkpointing.offload=nvme activation_checkpointing.nvme_path=FOLDER");
  EXPECT_FALSE(change->config.offload_activations.cpu_checkpointing);
}

TEST(CheapestChange, MovesActivationsToTheHostWhereNothingElseOnTheRanksHelps) {
  RunConfig config = sixteen_samples();
  config.model.numbers.counts["layers"] = 4;
  const Fits fits = [](const setup::Build& build) {
    return build.plan.request.activation_home == plan::Tier::host || build.plan.request.ranks > 1;
  };
  const auto change = cheapest_change(config, {.ranks = 1}, fits);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->text,
            "activation_checkpointing.recompute=selective activation_checkpointing.offload=cpu");
  config.recompute.mode = Recompute::Mode::full;
  EXPECT_EQ(cheapest_change(config, {.ranks = 1}, fits)->text,
            "activation_checkpointing.offload=cpu");
  config.model.numbers.counts["layers"] = 2;
  EXPECT_EQ(cheapest_change(config, {.ranks = 1}, fits)->text, "--ranks 2") << "none would leave";
}

TEST(CheapestChange, BringsToTheHostWhatADiskHasNoRoomFor) {
  RunConfig config = sixteen_samples();
  config.zero.stage = 3;
  config.offload_optimizer = {.device = Home::nvme, .nvme_path = "disk"};
  config.offload_param = {.device = Home::nvme, .nvme_path = "disk"};
  const int64_t whole =
      setup::build(config, {.ranks = 1}).plan.arena_bytes[size_t(plan::Tier::nvme)];
  const auto on_disk_within = [](int64_t bytes) {
    return [=](const setup::Build& build) {
      return build.plan.arena_bytes[size_t(plan::Tier::nvme)] <= bytes;
    };
  };
  const auto most = cheapest_change(config, {.ranks = 1}, on_disk_within(whole / 2));
  ASSERT_TRUE(most);
  EXPECT_EQ(most->text, "zero.offload_optimizer.device=cpu zero.offload_optimizer.nvme_path=");
  const auto all = cheapest_change(config, {.ranks = 1}, on_disk_within(0));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->text,
            "zero.offload_optimizer.device=cpu zero.offload_optimizer.nvme_path= "
            "zero.offload_param.device=cpu zero.offload_param.nvme_path=");
}

TEST(CheapestChange, KeepsAShareOfTheStatesOnTheDeviceWhereTheDiskLacksRoomForAll) {
  RunConfig config = on_host();
  config.offload_optimizer = {.device = Home::nvme, .nvme_path = "disk", .buffer_count = 1};
  const auto on_disk = [](const setup::Build& build) {
    return build.plan.arena_bytes[size_t(plan::Tier::nvme)];
  };
  const setup::Build all = setup::build(config, {});
  const Fits half = [&](const setup::Build& build) {
    return on_disk(build) <= on_disk(all) / 2 && host(build) <= host(all);
  };
  EXPECT_TRUE(change_text(config, half).starts_with("zero.offload_optimizer.ratio=0."))
      << change_text(config, half);
}

TEST(CheapestChange, BringsActivationsToTheHostWhereADiskHasNoRoom) {
  RunConfig config = sixteen_samples();
  config.model.numbers.counts["layers"] = 4;
  config.recompute.mode = Recompute::Mode::full;
  config.offload_activations.offload = Home::nvme;
  config.offload_activations.nvme_path = "disk";
  const Fits fits = [](const setup::Build& build) {
    return build.plan.request.activation_home == plan::Tier::host;
  };
  EXPECT_EQ(change_text(config, fits),
            "activation_checkpointing.offload=cpu activation_checkpointing.nvme_path=");
}

TEST(CheapestChange, SaysThatNothingFits) {
  EXPECT_FALSE(
      cheapest_change(sixteen_samples(), {.ranks = 1}, [](const setup::Build&) { return false; }));
}

TEST(LargestMicroBatch, IsTheLargestDivisorOfTheBatchThatFits) {
  const auto at_most = [](int64_t micro) {
    return [micro](const setup::Build& build) { return build.batch.micro <= micro; };
  };
  EXPECT_EQ(largest_micro_batch(sixteen_samples(), {.ranks = 1}, at_most(7)), 4);
  EXPECT_EQ(largest_micro_batch(sixteen_samples(), {.ranks = 1}, at_most(100)), 16);
  EXPECT_EQ(largest_micro_batch(sixteen_samples(), {.ranks = 1}, at_most(0)), 0);
  RunConfig open = sixteen_samples();
  open.train_batch_size = 0;
  EXPECT_EQ(largest_micro_batch(open, {.ranks = 1}, at_most(7)), 7);
}

TEST(LargestMicroBatch, IsLookedForInAllOfALimitThatIsSaidAndInMostOfOneThatIsFound) {
  RunConfig config = sixteen_samples();
  EXPECT_EQ(limit_of_largest(config, {1600, "available memory"}).bytes, 1500);
  EXPECT_EQ(limit_of_largest(config, {1600, "available memory"}).source,
            "15/16 of available memory");
  config.memory.device_limit = 1600;
  EXPECT_EQ(limit_of_largest(config, {1600, "memory.device_limit"}).bytes, 1600);
}

TEST(LargestMicroBatch, ReplacesMaxAndNothingElse) {
  RunConfig config = sixteen_samples();
  config.train_micro_batch_size_per_gpu = 4;
  const int64_t enough = arena(setup::build(config, {}));
  config.memory.device_limit = enough;
  resolve_largest(config, {}, {enough, "memory.device_limit"});
  EXPECT_EQ(config.train_micro_batch_size_per_gpu, 4) << "a number stays";
  config.train_micro_batch_size_per_gpu = kMicroBatchMax;
  resolve_largest(config, {}, {enough, "memory.device_limit"});
  EXPECT_EQ(config.train_micro_batch_size_per_gpu, 4);
  EXPECT_EQ(resolve_batch(config, 1).train, 16);
  config.train_micro_batch_size_per_gpu = kMicroBatchMax;
  resolve_largest(config, {}, {1, "memory.device_limit"});
  EXPECT_EQ(config.train_micro_batch_size_per_gpu, 1) << "so that a refusal names a change";
}

TEST(LargestMicroBatch, HasNoMeaningWhereTheBatchLeavesNoChoice) {
  RunConfig config = sixteen_samples();
  config.train_micro_batch_size_per_gpu = kMicroBatchMax;
  config.gradient_accumulation_steps = 2;
  EXPECT_THROW(resolve_largest(config, {}, {}), Error);
}

TEST(LargestMicroBatch, NeedsMoreMemoryThanASmallerOne) {
  RunConfig config = sixteen_samples();
  const int64_t whole = arena(setup::build(config, {}));
  config.train_micro_batch_size_per_gpu = 4;
  EXPECT_LT(arena(setup::build(config, {})), whole);
}

}  // namespace
}  // namespace zero::advise
