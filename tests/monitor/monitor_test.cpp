// Ranks: 1
#include "zero/monitor/monitor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "tests/support/content_of.hpp"
#include "tests/support/event_records.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/support/timed_record.hpp"
#include "zero/base/error.hpp"
#include "zero/model/objective.hpp"

namespace zero::monitor {
namespace {

using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;
using testing_support::content_of;
using testing_support::event_files;
using testing_support::EventRecord;
using testing_support::read_events;

StepRecord record_of(int64_t step) {
  StepRecord record = testing_support::timed_record(step);
  record.report.loss = 3.5 - double(step);
  record.report.learning_rate = 0.001f;
  record.report.loss_scale = 1024;
  return record;
}

/// Monitors of a run in a folder that is removed at the end.
class MonitorTest : public ::testing::Test {
 protected:
  ~MonitorTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Monitor> tensorboard(const LogContext& context,
                                       const TensorboardConfig& config = {}) const {
    return make_tensorboard(config, context,
                            {.name = folder_,
                             .settings = "[run]\nsteps = 7\n",
                             .written = {{"run.steps", int64_t(7)}, {"bf16.enabled", true}}});
  }
  std::vector<EventRecord> events(size_t file = 0) const {
    return read_events(event_files(folder_ + "/tensorboard").at(file));
  }

  const std::string folder_ = testing_support::TempFile("monitor", "").path() + ".d";
};

TEST_F(MonitorTest, TensorBoardGetsEveryShownStep) {
  const LogContext context{.last = 8,
                           .done = 2,
                           .flops_per_unit = 1,
                           .peak_flops = 4000,
                           .shows_scale = true,
                           .interval = 3};
  const auto monitor = tensorboard(context);
  for (int64_t step = 3; step <= 8; ++step) monitor->step(record_of(step), context);
  const std::vector<EventRecord> all = events();
  ASSERT_EQ(all.size(), 6u);
  EXPECT_TRUE(all[1].starts_session);
  EXPECT_EQ(all[1].step, 3);
  EXPECT_THAT(all[2].tensors,
              UnorderedElementsAre(Key("effective.toml"), Key("_hparams_/session_start_info")));
  EXPECT_THAT(all[2].tensors.at("effective.toml"), HasSubstr("steps = 7"));
  EXPECT_EQ(all[3].step, 3);
  EXPECT_EQ(all[4].step, 6);
  EXPECT_EQ(all[5].step, 8);
  const std::map<std::string, float> expected = {
      {"train/loss", -2.5f},        {"train/lr", 0.001f},       {"train/grad_norm", 0.5f},
      {"train/loss_scale", 1024},   {"train/skipped", 0},       {"speed/tokens_per_s", 2000},
      {"speed/step_ms", 500},       {"speed/exposed_ms", 1},    {"speed/share_of_peak", 0.5f},
      {"time/forward_ms", 125},     {"time/backward_ms", 250},  {"time/reduce_ms", 31.25f},
      {"time/optimizer_ms", 62.5f}, {"time/gather_ms", 15.625f}};
  EXPECT_EQ(all[4].scalars, expected);
}

TEST_F(MonitorTest, TensorBoardGetsSkippedStepsAndWhatAGpuMeasures) {
  const LogContext context{.last = 9, .counted_by = kBySample, .interval = 5};
  const auto monitor = tensorboard(context);
  StepRecord record = record_of(3);
  record.report.skipped = true;
  record.report.loss = std::numeric_limits<double>::quiet_NaN();
  record.device_bytes_peak = 1 << 20;
  monitor->step(record, context);
  const EventRecord last = events().back();
  EXPECT_EQ(last.scalars.at("train/skipped"), 1);
  EXPECT_TRUE(std::isnan(last.scalars.at("train/loss")));
  EXPECT_EQ(last.scalars.at("memory/device_bytes_peak"), 1 << 20);
  EXPECT_EQ(last.scalars.at("speed/samples_per_s"), 2000);
  EXPECT_FALSE(last.scalars.contains("speed/tokens_per_s"));
  EXPECT_FALSE(last.scalars.contains("train/loss_scale"));
  EXPECT_FALSE(last.scalars.contains("speed/share_of_peak"));
}

TEST_F(MonitorTest, TensorBoardGetsEvaluations) {
  const auto monitor = tensorboard({});
  state::Evaluation evaluation{.step = 4, .loss = 1.5};
  evaluation.measure(model::pair_objective().settings.metrics, MetricSource::loss);
  monitor->evaluation(evaluation);
  const EventRecord last = events().back();
  EXPECT_EQ(last.step, 4);
  EXPECT_EQ(last.scalars.at("eval/loss"), 1.5f);
  EXPECT_NEAR(last.scalars.at("eval/perplexity"), std::exp(1.5), 1e-6);
}

TEST_F(MonitorTest, TensorBoardLearnsHowALaunchEnds) {
  const auto last_of = [&](std::optional<LaunchEnd> end) {
    std::filesystem::remove_all(folder_);
    auto monitor = tensorboard({});
    if (end) monitor->end(*end);
    monitor.reset();
    const EventRecord last = events().back();
    const auto& tensors = last.tensors;
    const auto found = tensors.find("_hparams_/session_end_info");
    return found == tensors.end() ? "" : found->second;
  };
  EXPECT_THAT(last_of(LaunchEnd::finished), HasSubstr("\x08\x01\x11"));
  EXPECT_THAT(last_of({}), HasSubstr("\x08\x02\x11"));
  EXPECT_EQ(last_of(LaunchEnd::paused), "");
}

TEST_F(MonitorTest, EachLaunchHasAFileOfItsOwn) {
  tensorboard({})->step(record_of(1), {});
  tensorboard({.done = 1})->step(record_of(2), {.done = 1});
  ASSERT_EQ(event_files(folder_ + "/tensorboard").size(), 2u);
  EXPECT_EQ(events(0).at(1).step, 1);
  EXPECT_EQ(events(1).at(1).step, 2);
}

TEST_F(MonitorTest, DeepSpeedsCurvesAreOverSamples) {
  const LogContext context{.done = 2, .samples_done = 30, .batch = 8, .breaks_down = true};
  const auto monitor = tensorboard(context, {.deepspeed_tags = true});
  monitor->step(record_of(3), context);
  const EventRecord last = events().back();
  EXPECT_EQ(last.step, 38);
  const std::map<std::string, float> expected = {
      {"Train/Samples/train_loss", 0.5f},
      {"Train/Samples/lr", 0.001f},
      {"Train/Samples/elapsed_time_ms_forward", 125},
      {"Train/Samples/elapsed_time_ms_backward", 281.25f},
      {"Train/Samples/elapsed_time_ms_backward_inner", 250},
      {"Train/Samples/elapsed_time_ms_backward_allreduce", 31.25f},
      {"Train/Samples/elapsed_time_ms_step", 62.5f}};
  EXPECT_EQ(last.scalars, expected);
}

TEST_F(MonitorTest, CsvFilesAreThoseOfDeepSpeed) {
  const LogContext context{.samples_done = 0, .batch = 8, .shows_scale = true};
  for (int launch = 0; launch < 2; ++launch) {
    const auto monitor = make_csv_monitor({.enabled = true, .job_name = "job"}, context, folder_);
    for (int64_t step = 1; step <= 2; ++step) monitor->step(record_of(step), context);
  }
  const std::string folder = folder_ + "/csv_monitor/job/Train_Samples_";
  const std::string losses = "step,train_loss\r\n8,2.5\r\n16,1.5\r\n";
  EXPECT_EQ(content_of(folder + "train_loss.csv"), losses + losses);
  EXPECT_THAT(content_of(folder + "lr.csv"), HasSubstr("step,lr\r\n8,0.001\r\n16,0.001\r\n"));
  EXPECT_THAT(content_of(folder + "loss_scale.csv"), HasSubstr("step,loss_scale\r\n8,1024.0\r\n"));
  EXPECT_EQ(event_files(folder_ + "/csv_monitor/job").size(), 3u);
}

TEST_F(MonitorTest, PrometheusGetsTheLastShownStep) {
  std::filesystem::create_directories(folder_);
  const std::string path = folder_ + "/run.prom", label = "{run=\"a \\\"b\\\"\",job_id=\"17\"} ";
  const LogContext context{.steps = 9, .last = 9, .interval = 3};
  auto monitor = make_prometheus(path, context,
                                 {.name = "a\n\"b\"", .settings = {}, .written = {}, .job = "17"});
  EXPECT_THAT(content_of(path), HasSubstr("zeroapp_step" + label + "0\n"));
  for (int64_t step = 1; step <= 4; ++step) monitor->step(record_of(step), context);
  const std::string third = content_of(path);
  EXPECT_THAT(third, HasSubstr("# TYPE zeroapp_step gauge\nzeroapp_step" + label + "3\n"));
  EXPECT_THAT(third, HasSubstr("zeroapp_train_loss" + label + "0.5\n"));
  EXPECT_THAT(third, HasSubstr("zeroapp_speed_tokens_per_s" + label + "2000\n"));
  EXPECT_THAT(third, HasSubstr("zeroapp_running" + label + "1\n"));
  StepRecord bad = record_of(5);
  bad.report.skipped = bad.rejected = true;
  bad.report.loss = std::numeric_limits<double>::quiet_NaN();
  bad.report.grad_norm = std::numeric_limits<double>::infinity();
  monitor->step(bad, context);
  state::Evaluation evaluation{.step = 5, .loss = 1.5};
  evaluation.measure(model::pair_objective().settings.metrics, MetricSource::loss);
  monitor->evaluation(evaluation);
  monitor->end(LaunchEnd::paused);
  const std::string last = content_of(path);
  EXPECT_THAT(last, HasSubstr("zeroapp_train_loss" + label + "NaN\n"));
  EXPECT_THAT(last, HasSubstr("zeroapp_train_grad_norm" + label + "+Inf\n"));
  EXPECT_THAT(last, HasSubstr("zeroapp_rejected_steps_total" + label + "1\n"));
  EXPECT_THAT(last, HasSubstr("zeroapp_eval_loss" + label + "1.5\n"));
  EXPECT_THAT(last, HasSubstr("zeroapp_running" + label + "0\n"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(MonitorTest, PrometheusIsRefusedWhereItCannotBeWritten) {
  EXPECT_THAT([&] { make_prometheus(folder_ + "/none/run.prom", {}, {}); },
              ::testing::ThrowsMessage<Error>(HasSubstr("run.prom: No such file or directory")));
}

TEST(PythonNumber, IsWhatPythonPrints) {
  EXPECT_EQ(python_number(2.5), "2.5");
  EXPECT_EQ(python_number(3), "3.0");
  EXPECT_EQ(python_number(-0.0), "-0.0");
  EXPECT_EQ(python_number(1e-5), "1e-05");
  EXPECT_EQ(python_number(0.0001), "0.0001");
  EXPECT_EQ(python_number(1e16), "1e+16");
  EXPECT_EQ(python_number(123456789012345680.0 / 100), "1234567890123456.8");
  EXPECT_EQ(python_number(double(0.1f)), "0.10000000149011612");
  EXPECT_EQ(python_number(double(0.1f), true), "0.1");
  EXPECT_EQ(python_number(std::nan("")), "nan");
  EXPECT_EQ(python_number(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST_F(MonitorTest, AFolderIsTheRunsUnlessItIsNamed) {
  const auto made = [&](const std::string& output, const std::string& job) {
    const std::string folder = make_monitor_folder(output, job, folder_, "tensorboard");
    EXPECT_TRUE(std::filesystem::is_directory(folder));
    return folder.substr(folder_.size());
  };
  EXPECT_EQ(made("", ""), "/tensorboard");
  EXPECT_EQ(made("", "job"), "/tensorboard/job");
  EXPECT_EQ(made(folder_ + "/out", ""), "/out");
  EXPECT_EQ(made(folder_ + "/out", "job"), "/out/job");
}

TEST_F(MonitorTest, AFolderThatIsALinkOrAFileIsRefused) {
  std::filesystem::create_directories(folder_ + "/elsewhere");
  std::filesystem::create_directory_symlink(folder_ + "/elsewhere", folder_ + "/tensorboard");
  EXPECT_THAT([&] { make_monitor_folder("", "", folder_, "tensorboard"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("is a link; remove it")));
  EXPECT_NO_THROW(make_monitor_folder(folder_ + "/tensorboard", "", folder_, "tensorboard"));
  const testing_support::TempFile file("taken", "");
  EXPECT_THAT([&] { make_monitor_folder(file.path(), "job", folder_, "tensorboard"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("/job: Not a directory")));
}

}  // namespace
}  // namespace zero::monitor
