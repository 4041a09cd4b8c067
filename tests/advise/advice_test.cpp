// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/advise/sixteen_samples.hpp"
#include "tests/support/refusal.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"

namespace zero::advise {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

int64_t arena(const RunConfig& config) {
  return setup::build(config, {}).plan.arena_bytes[size_t(plan::Tier::device)];
}

std::string refusal(const MemoryLimit& limit, const ChangeOptions& options) {
  const RunConfig config = sixteen_samples();
  const setup::Build build = setup::build(config, {});
  const PlanReport report = report_plan(build, plan::machine_profile("host", Dtype::f32), limit);
  return testing_support::refusal_of(Exit::kDoesNotFit,
                                     [&] { refuse_unless_fits(report, config, {}, options); });
}

/// Returns the limit into which half of the samples fit.
MemoryLimit half() {
  RunConfig config = sixteen_samples();
  config.train_micro_batch_size_per_gpu = 8;
  config.gradient_accumulation_steps = 2;
  return {.bytes = arena(config), .source = "here"};
}

TEST(Advice, SaysWhichSettingsOfTheCommandLineAChangeReplaces) {
  EXPECT_THAT(refusal(half(), {.most_ranks = 1}),
              EndsWith("cheapest change that fits: train_micro_batch_size_per_gpu=8"));
  const std::vector<std::string> typed = {"train_batch_size=16",
                                          "train_micro_batch_size_per_gpu=16", "run.steps=1"};
  EXPECT_THAT(refusal(half(), {.most_ranks = 1, .typed = typed}),
              EndsWith("cheapest change that fits: train_micro_batch_size_per_gpu=8 (in place of "
                       "train_micro_batch_size_per_gpu=16)"));
}

TEST(Advice, SaysThatTheSearchWasCut) {
  const std::string none = refusal(half(), {.most_ranks = 1, .time = {.seconds = 0}});
  EXPECT_THAT(none, HasSubstr("the search was cut after 0 s, before a change that makes it fit "));
  EXPECT_THAT(refusal(half(), {.most_ranks = 1}), Not(HasSubstr("cut")));
}

TEST(Advice, NamesTheKeyThatSaysTheLimit) {
  const MemoryLimit device{.bytes = 1, .source = "a source", .key = "memory.device_limit"};
  EXPECT_THAT(refusal(device, {.most_ranks = 1}),
              EndsWith("or write a larger memory.device_limit"));
  EXPECT_THAT(refusal({.bytes = 1, .source = "a source"}, {.most_ranks = 1}),
              EndsWith("or a machine with more memory"));
}

}  // namespace
}  // namespace zero::advise
