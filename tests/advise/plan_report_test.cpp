// Ranks: 1
#include "zero/advise/plan_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/text.hpp"

namespace zero::advise {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::refusal_of;

RunConfig tiny(int64_t stage) {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", 3}, {"width", 64}, {"heads", 2}}, .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 16;
  config.run.steps = 1;
  config.train_micro_batch_size_per_gpu = 2;
  config.gradient_accumulation_steps = 2;
  config.zero.stage = stage;
  config.zero.stage3_max_reuse_distance = 0;
  return config;
}

std::string tables(const RunConfig& config, int ranks) {
  const setup::Build made = setup::build(config, {.ranks = ranks});
  const PlanReport report =
      report_plan(made, plan::machine_profile("v100_32g", setup::compute_dtype(config)), {});
  return memory_table(report) + traffic_table(report);
}

TEST(PlanReport, NamesPaddingWhereNothingElseDiffers) {
  EXPECT_THAT(tables(tiny(2), 4), HasSubstr("%  padding\n"));
}

TEST(PlanReport, HasFormulasForGathersAndForSumsOfGradients) {
  const std::string said = tables(tiny(2), 4);
  EXPECT_THAT(said, ContainsRegex("gather[^\n]* formula [1-9][0-9]* elements"));
  EXPECT_THAT(said, ContainsRegex("reduce[^\n]* formula [1-9][0-9]* elements"));
}

TEST(PlanReport, SaysThatKeptUnitsAreGatheredLessOften) {
  RunConfig config = tiny(3);
  const char* reason = "see zero.stage3_max_reuse_distance";
  EXPECT_THAT(tables(tiny(2), 4), Not(HasSubstr(reason)));
  config.zero.stage3_max_reuse_distance = 1'000'000'000;
  EXPECT_THAT(tables(config, 4), HasSubstr(reason));
}

TEST(PlanReport, SaysWhereStatesRestAndWhyTheyDiffer) {
  RunConfig config = tiny(2);
  config.bf16.enabled = true;
  config.offload_optimizer = {.device = Home::nvme, .nvme_path = "."};
  const std::string said = tables(config, 4);
  EXPECT_THAT(said, HasSubstr("on disk each begins at a block of 64 KiB"));
  EXPECT_THAT(said, HasSubstr("\n  on nvme "));
  EXPECT_THAT(said, HasSubstr("those that wait on the host are rounded"));
  EXPECT_THAT(said, Not(HasSubstr("for no known reason")));
}

TEST(PlanReport, SaysForHowManyThreadsOfAHostScratchIsCounted) {
  const setup::Build made = setup::build(tiny(1), {.ranks = 2, .threads = 3});
  const auto said = [&](const char* machine) {
    return memory_table(report_plan(made, plan::machine_profile(machine, Dtype::f32), {}));
  };
  EXPECT_THAT(said("host"), ContainsRegex("scratch +[0-9.]+ [KM]iB   for 3 threads a rank\n"));
  EXPECT_THAT(said("v100_32g"), Not(HasSubstr("threads")));
}

TEST(PlanReport, SaysWhereActivationsRest) {
  RunConfig config = tiny(2);
  config.recompute = {.mode = Recompute::Mode::full, .layers = {}};
  config.offload_activations.offload = Home::cpu;
  // One of three inputs of 2 x 16 x 64 numbers in fp32 is not wanted at once.
  EXPECT_THAT(tables(config, 4), ContainsRegex("activations +[0-9.]+ KiB  8.00 KiB on host"));
}

TEST(PlanReport, NamesTheCopyOfSavesInAShortageOfTheMemoryThatItIsIn) {
  RunConfig config = tiny(1);
  config.checkpoint.async = true;
  config.checkpoint.interval = 1;  // else synthetic data save nothing
  const setup::Build made = setup::build(config, {.ranks = 2});
  ASSERT_GT(made.copy_bytes, 0);
  const std::string copy = text(bytes_text(double(made.copy_bytes)), " of it for checkpoint.async");
  const MemoryLimit device{.bytes = 1, .source = "d"};
  EXPECT_THAT(shortage_text(made, device), Not(HasSubstr(copy)));
  EXPECT_THAT(shortage_text(made, {.bytes = 1, .source = "d", .of_host = true}), HasSubstr(copy));
  EXPECT_THAT(shortage_text(made, {.source = "", .host_bytes = 1, .host_source = "h"}),
              HasSubstr(copy));
  config.checkpoint.async = false;
  EXPECT_THAT(shortage_text(setup::build(config, {.ranks = 2}),
                            {.source = "", .host_bytes = 1, .host_source = "h"}),
              Not(HasSubstr("checkpoint.async")));
}

TEST(PlanReport, HoldsDeviceAndHostTogetherAgainstALimitOfTheProcess) {
  RunConfig config = tiny(1);
  config.offload_optimizer.device = Home::cpu;
  const setup::Build made = setup::build(config, {.ranks = 2});
  ASSERT_GT(host_bytes(made), 0);
  const int64_t device = made.plan.arena_bytes[size_t(plan::Tier::device)];
  EXPECT_EQ(all_bytes(made), device + host_bytes(made));
  MemoryLimit limit{.bytes = device, .source = "d", .host_bytes = host_bytes(made)};
  limit.process_source = "ulimit -v";
  limit.process_bytes = all_bytes(made);
  EXPECT_TRUE(fits(made, limit));
  --limit.process_bytes;
  EXPECT_FALSE(fits(made, limit)) << "though each of them fits";
  EXPECT_THAT(shortage_text(made, limit), HasSubstr("(ulimit -v)"));
}

TEST(FlopsPerToken, AreOfTheModelOrOfWhatIsPlannedBesideFrozenParameters) {
  const auto flops = [](const RunConfig& config, int ranks) {
    const setup::Build made = setup::build(config, {.ranks = ranks});
    return flops_per_token(report_plan(made, plan::machine_profile("v100_32g", Dtype::f32), {}), 0);
  };
  RunConfig config = tiny(1);
  const double whole = model::flops_per_token(model::recipe_of(config), {1, 16});
  EXPECT_EQ(flops(config, 2), whole);
  config.model.freeze = {"wte.weight", "wpe.weight", "h.0.*", "h.1.*"};
  // The last of three blocks takes all of its three passes, the others the forward one alone.
  EXPECT_NEAR(flops(config, 2) / whole, 5.0 / 9, 0.02);
  EXPECT_EQ(flops(config, 4), flops(config, 2));
  config.recompute = {.mode = Recompute::Mode::full, .layers = {}};
  config.model.freeze = {"ln_f.bias"};
  EXPECT_EQ(flops(config, 2), whole) << "no recompute is counted";
}

TEST(PlanReport, NamesTheSecondSlotsOfSavesInAShortageOfTheDisk) {
  RunConfig config = tiny(1);
  config.offload_optimizer.device = Home::nvme;
  config.checkpoint.async = true;
  config.checkpoint.interval = 1;  // else synthetic data save nothing
  const setup::Build made = setup::build(config, {.ranks = 2});
  const int64_t one = made.plan.arena_bytes[size_t(plan::Tier::nvme)];
  MemoryLimit limit{.source = ""};
  limit.disk = {.optimizer = 2 * one, .source = "free"};
  EXPECT_TRUE(fits(made, limit));
  limit.disk.optimizer = 2 * one - 1;
  EXPECT_FALSE(fits(made, limit));
  EXPECT_THAT(shortage_text(made, limit),
              HasSubstr(text(bytes_text(double(2 * one)), " on disk, ", bytes_text(double(one)),
                             " of it for checkpoint.async, a rank of ")));
  EXPECT_THAT(tables(config, 2),
              ContainsRegex(text("second slots +", bytes_text(double(one)), "   on nvme")));
  config.checkpoint.async = false;
  EXPECT_TRUE(fits(setup::build(config, {.ranks = 2}), limit));
}

TEST(PlanReport, SaysThatAReproducibleSumIsKeptAsAShard) {
  RunConfig config = tiny(1);
  config.numerics.reproducible = true;
  EXPECT_THAT(tables(config, 4), HasSubstr("only a shard of a reproducible sum is kept"));
}

TEST(PlanReport, SaysOfEachKnownLimitWhetherThePlanFits) {
  RunConfig config = tiny(2);
  config.offload_optimizer.device = Home::cpu;
  const setup::Build made = setup::build(config, {.ranks = 4});
  const plan::Machine card = plan::machine_profile("v100_32g", Dtype::f32);
  const auto said = [&](const MemoryLimit& limit) {
    return memory_table(report_plan(made, card, limit));
  };
  EXPECT_THAT(said({}), AllOf(HasSubstr("\n  no limit is known\n"), Not(HasSubstr("fit"))));
  MemoryLimit limit{.source = "a card", .host_bytes = 0, .host_source = "a host"};
  const int64_t device = counted_bytes(made, limit), host = host_bytes(made);
  ASSERT_GT(host, 0);
  limit.bytes = device;
  limit.host_bytes = host - 1;
  EXPECT_THAT(said(limit), AllOf(HasSubstr("a card: fits\n"), HasSubstr("a host: does not fit\n"),
                                 Not(HasSubstr("no limit"))));
  limit.bytes = device - 1;
  limit.host_bytes = host;
  EXPECT_THAT(said(limit), AllOf(HasSubstr("a card: does not fit\n"), HasSubstr("a host: fits\n")));
}

TEST(PlanReport, HasARowOfWhatCommunicatorsTake) {
  const setup::Build made = setup::build(tiny(2), {.ranks = 8});
  const plan::Machine card = plan::machine_profile("h100_80g", Dtype::bf16);
  const MemoryLimit limit = machine_limit({}, card, 8, 8);
  EXPECT_THAT(memory_table(report_plan(made, card, limit)),
              ContainsRegex("\n  communicators +3\\.7. GiB   beside the plan, of NCCL by published "
                            "figures, 8 ranks of a node\n  limit "));
  const int64_t asked = counted_bytes(made, limit);
  MemoryLimit least = limit;
  least.bytes = asked;
  EXPECT_TRUE(fits(made, least));
  const setup::Build one = setup::build(tiny(2), {.ranks = 1});
  EXPECT_THAT(memory_table(report_plan(one, card, machine_limit({}, card, 1, 1))),
              Not(HasSubstr("communicators")));
}

TEST(PlanReport, HasAReasonForEveryDifference) {
  for (int bits = 0; bits < 64; ++bits) {
    RunConfig config = tiny(bits & 3);
    config.bf16.enabled = bits & 4;
    config.numerics.reproducible = bits & 8;
    if (bits & 16) config.numerics.gradient_dtype = GradientDtype::fp32;
    if (bits & 32) config.gradient_accumulation_steps = 1;
    for (int ranks : {1, 4}) {
      if (ranks == 1 && config.zero.stage > 0) continue;
      EXPECT_THAT(tables(config, ranks), Not(HasSubstr("for no known reason")))
          << "bits " << bits << " on " << ranks << " ranks";
    }
  }
}

/// A plan of two arenas; of the device's so many bytes last.
setup::Build build_of(const plan::TierBytes& arenas, int64_t lasting) {
  setup::Build build;
  build.plan.arena_bytes = arenas;
  build.plan.buffers.push_back({.name = "weights", .bytes = lasting, .persistent = true});
  return build;
}

setup::Build with_texts(setup::Build build, const plan::TierBytes& bytes) {
  build.texts = {{"evaluation.generate", bytes}};
  return build;
}

TEST(Fits, CountsTextsBesideThePlan) {
  const setup::Build build = build_of({1000, 500, 0}, 1000);
  const auto fit = [&](const plan::TierBytes& bytes, const MemoryLimit& limit) {
    return fits(with_texts(build, bytes), limit);
  };
  const MemoryLimit device{.bytes = 1200, .source = "here"};
  EXPECT_TRUE(fit({200, 0, 0}, device));
  EXPECT_FALSE(fit({201, 0, 0}, device));
  const MemoryLimit both{.bytes = 1600, .source = "here", .of_host = true};
  EXPECT_TRUE(fit({60, 40, 0}, both));
  EXPECT_FALSE(fit({60, 41, 0}, both));
  const MemoryLimit host{
      .bytes = 9999, .source = "here", .host_bytes = 600, .host_source = "there"};
  EXPECT_TRUE(fit({0, 100, 0}, host));
  EXPECT_FALSE(fit({0, 101, 0}, host));
  const MemoryLimit own{.source = "", .process_bytes = 1600, .process_source = "ulimit -v"};
  EXPECT_TRUE(fit({100, 0, 0}, own));
  EXPECT_FALSE(fit({101, 0, 0}, own));
  EXPECT_TRUE(fit({1 << 30, 0, 0}, {})) << "no limit is known";
}

TEST(ShortageText, NamesTextsOnlyWhereThePlanAloneFits) {
  const setup::Build build = with_texts(build_of({1000, 500, 0}, 1000), {201, 101, 0});
  EXPECT_EQ(
      shortage_text(build, {.bytes = 1200, .source = "here"}),
      "1.17 KiB, 201 B of it for the texts of evaluation.generate, a rank of 1.17 KiB (here)");
  EXPECT_EQ(shortage_text(build, {.bytes = 999, .source = "here"}),
            "1000 B a rank of 999 B (here)");
  EXPECT_EQ(shortage_text(build, {.source = "", .host_bytes = 600, .host_source = "there"}),
            "601 B of host memory, 101 B of it for the texts of evaluation.generate, a rank of "
            "600 B (there)");
  EXPECT_EQ(shortage_text(build, {}), "");
}

TEST(Beside, TextsTakeNothingThatStepsLeaveFreeIfAllOfThemFit) {
  const setup::Build build = build_of({3 * 4096, 0, 0}, 4000);
  EXPECT_EQ(beside(build, {8192, 7, 0}), (plan::TierBytes{0, 7, 0}));
  EXPECT_EQ(beside(build, {8193, 7, 0}), (plan::TierBytes{8193, 7, 0}));
  const MemoryLimit limit{.bytes = 3 * 4096, .source = ""};
  EXPECT_TRUE(fits(with_texts(build, {8192, 0, 0}), limit));
  EXPECT_FALSE(fits(with_texts(build, {8193, 0, 0}), limit));
}

}  // namespace
}  // namespace zero::advise
