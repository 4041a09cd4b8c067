// Ranks: 1
#include "src/commands/checkpoint_lists.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zero::commands {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(Checkpoints, TellsThatNoOtherRunHasTheBytesOfFastAttention) {
  save::StepSurvey step{.step = 4, .folder = "runs/x/checkpoints/step00000004", .ranks = 1};
  save::Survey survey{.root = "runs/x", .steps = {step}};
  EXPECT_THAT(step_row(step, save::SurveyDepth::blocks), EndsWith("  verifies\n"));
  EXPECT_THAT(survey_json(survey), HasSubstr("\"deterministic\": true"));
  survey.steps[0].in_any_order = true;
  EXPECT_THAT(step_row(survey.steps[0], save::SurveyDepth::blocks),
              EndsWith("  verifies, attention fast: no other run gives these bytes\n"));
  EXPECT_THAT(survey_json(survey), HasSubstr("\"deterministic\": false"));
}

TEST(Checkpoints, TellsWhereTheStructureWasNotCompared) {
  save::StepSurvey step{.folder = "runs/x/checkpoints/step00000004", .files = 3};
  EXPECT_THAT(step_verdict(step), EndsWith(": verified\n"));
  step.not_compared = "its format is 2";
  EXPECT_THAT(step_verdict(step),
              EndsWith(": verified, structure not compared: its format is 2\n"));
  EXPECT_THAT(survey_json({.root = "runs/x", .steps = {step}}),
              HasSubstr("\"structure_not_compared\": \"its format is 2\""));
}

}  // namespace
}  // namespace zero::commands
