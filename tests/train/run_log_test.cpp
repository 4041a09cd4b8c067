// Ranks: 1
#include "zero/train/run_log.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace zero::train {
namespace {

StepRecord quarter() {
  StepRecord record;
  record.report.step = 25;
  record.report.loss = 1.0;
  record.report.grad_norm = 0.5;
  record.report.learning_rate = 0.25f;
  record.report.loss_scale = 2.0f;
  record.tokens = 1000;
  record.seconds = 0.5;
  record.exposed_seconds = 0.001;
  return record;
}

std::string step_line(const StepRecord& record, const LogContext& context, double mean_seconds) {
  std::string line;
  append_step_line(line, record, context, mean_seconds);
  return line;
}

std::string metrics_line(const StepRecord& record) {
  std::string line;
  append_metrics_line(line, record);
  return line;
}

TEST(StepLine, TellsShareSpeedAndTimeLeft) {
  const LogContext context{.steps = 100, .flops_per_token = 1e6, .peak_flops = 1e10};
  EXPECT_EQ(step_line(quarter(), context, 2.0),
            "step 25/100 25.0 %  loss 1.0000  norm 0.5  lr 2.50e-01  500.0 ms  2000 tokens/s  "
            "20.0 % of peak  ETA 2 m 30 s\n");
}

TEST(StepLine, TellsScaleSkipsAndSyntheticDataWhereThereAreAny) {
  StepRecord record = quarter();
  record.report.skipped = 1;
  const std::string line =
      step_line(record, {.steps = 100, .shows_scale = true, .synthetic = true}, 1.0);
  EXPECT_NE(line.find("scale 2"), std::string::npos) << line;
  EXPECT_NE(line.find("skipped"), std::string::npos) << line;
  EXPECT_NE(line.find("synthetic data"), std::string::npos) << line;
  EXPECT_EQ(line.find("peak"), std::string::npos) << "no peak is known: " << line;
}

TEST(MetricsLine, KeepsTheBitsOfTheLoss) {
  EXPECT_EQ(metrics_line(quarter()),
            "{\"step\": 25, \"loss\": 1, \"loss_hex\": \"3ff0000000000000\", \"grad_norm\": 0.5, "
            "\"lr\": 0.25, \"loss_scale\": 2, \"skipped\": false, \"tokens\": 1000, "
            "\"tokens_per_s\": 2000.0, \"step_ms\": 500.000, \"exposed_ms\": 1.000}\n");
}

TEST(MetricsLine, IsJsonEvenWhereNumbersAreNot) {
  StepRecord record = quarter();
  record.report.loss = std::numeric_limits<double>::infinity();
  record.report.grad_norm = std::numeric_limits<double>::quiet_NaN();
  const std::string line = metrics_line(record);
  EXPECT_NE(line.find("\"loss\": null, \"loss_hex\": \"7ff0000000000000\", \"grad_norm\": null"),
            std::string::npos)
      << line;
}

TEST(DurationText, HasTwoUnitsAtMost) {
  EXPECT_EQ(duration_text(41.4), "41 s");
  EXPECT_EQ(duration_text(185), "3 m 05 s");
  EXPECT_EQ(duration_text(3720), "1 h 02 m");
}

}  // namespace
}  // namespace zero::train
