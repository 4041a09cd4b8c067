// Ranks: 1
#include "src/commands/survey_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zero::commands {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(SurveyText, TellsThatNoOtherRunHasTheBytesOfFastAttention) {
  save::StepSurvey step{.step = 4, .folder = "runs/x/checkpoints/step00000004", .ranks = 1};
  save::Survey survey{.root = "runs/x", .steps = {step}};
  EXPECT_THAT(step_row(step, save::SurveyDepth::blocks), EndsWith("  verifies\n"));
  EXPECT_THAT(survey_json(survey), HasSubstr("\"deterministic\": true"));
  survey.steps[0].in_any_order = true;
  EXPECT_THAT(step_row(survey.steps[0], save::SurveyDepth::blocks),
              EndsWith("  verifies, attention fast: no other run gives these bytes\n"));
  EXPECT_THAT(survey_json(survey), HasSubstr("\"deterministic\": false"));
}

}  // namespace
}  // namespace zero::commands
