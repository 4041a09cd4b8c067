// Ranks: 1
#include "src/replay/replay_comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "src/replay/replay_target.hpp"
#include "tests/support/refusal.hpp"

namespace zero::replay {
namespace {

using ::testing::HasSubstr;

kernels::StepReport report_of(double loss, double norm) {
  kernels::StepReport report{};
  report.loss = loss;
  report.grad_norm = norm;
  return report;
}

RecordedStep recorded_of(double loss, std::optional<double> norm) {
  return {.loss_bits = std::bit_cast<uint64_t>(loss), .grad_norm = norm};
}

TEST(Comparison, TellsEachNumberThatDiffersAndByHowMuch) {
  EXPECT_EQ(difference_of(recorded_of(2, 0.5), report_of(2, 0.5)), "");
  EXPECT_EQ(difference_of(recorded_of(2, 0.5), report_of(std::nextafter(2.0, 3.0), 0.5)),
            "loss 2 there, 2.0000000000000004 here, 1 ulp apart");
  EXPECT_EQ(difference_of(recorded_of(2, 0.5), report_of(2, std::nextafter(0.5, 0.0))),
            "norm 0.5 there, 0.49999999999999994 here, 1 ulp apart");
  kernels::StepReport skipped = report_of(2, 0.5);
  skipped.skipped = 1;
  EXPECT_EQ(difference_of(recorded_of(2, 0.5), skipped), "applied there, skipped here");
}

TEST(Comparison, ComparesNoNumbersOfAStepThatTheRunRejected) {
  RecordedStep there = recorded_of(2, 0.5);
  there.skipped = there.rejected = true;
  EXPECT_EQ(difference_of(there, report_of(3, 0.25)), "");
}

TEST(Comparison, TakesNormsThatAreNotFiniteForTheSame) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(difference_of(recorded_of(2, {}), report_of(2, infinity)), "");
  EXPECT_THAT(difference_of(recorded_of(2, {}), report_of(2, 1)), HasSubstr("norm inf there, 1"));
  EXPECT_THAT(difference_of(recorded_of(2, 1), report_of(2, infinity)), HasSubstr("1 there, inf"));
}

TEST(Comparison, NamesTheFirstUnitAndItsStates) {
  const std::vector<RecordedDigest> there = {
      {"a", "weights", 1}, {"a", "momentum", 2}, {"b", "weights", 3}, {"b", "momentum", 4}};
  std::vector<RecordedDigest> here = there;
  EXPECT_EQ(first_difference(there, here), -1);
  here[3].digest = 5;
  EXPECT_EQ(first_difference(there, here), 3);
  EXPECT_EQ(units_text(there, here, 3), "states of 1 of 2 units, b: momentum");
  here[0].digest = here[1].digest = 7;
  EXPECT_EQ(first_difference(there, here), 0);
  EXPECT_EQ(units_text(there, here, 0), "states of 2 of 2 units, first a: weights, momentum");
  here.pop_back();
  EXPECT_THAT(testing_support::refusal_of(Exit::kInput, [&] { first_difference(there, here); }),
              HasSubstr("of other units or states"));
}

TEST(Target, BeginsAtTheNewestCheckpointThatIsKnownToBeGood) {
  const Target target{.folder = "", .root = "", .checkpoints = {2, 4, 8}, .from = 2, .to = 9};
  EXPECT_EQ(target.newest_checkpoint(2), 2);
  EXPECT_EQ(target.newest_checkpoint(7), 4);
  EXPECT_EQ(target.newest_checkpoint(9), 8);
  EXPECT_TRUE(target.has_checkpoint(4));
  EXPECT_FALSE(target.has_checkpoint(5));
}

TEST(Target, TakesNoKeyThatChangesWhatIsComputed) {
  require_free_keys({"zero.stage=3", "run.threads=2", "data.train=there.txt"});
  for (const char* setting : {"optimizer.lr=1", "train_batch_size=4", "run.steps=7", "run.seed=2"})
    EXPECT_THAT(testing_support::refusal_of(Exit::kUsage, [&] { require_free_keys({setting}); }),
                HasSubstr("takes what is computed from the run"));
}

}  // namespace
}  // namespace zero::replay
