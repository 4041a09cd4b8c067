// Ranks: 1
#include "zero/monitor/run_log.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <limits>

#include "tests/support/content_of.hpp"
#include "tests/support/timed_record.hpp"
#include "zero/base/error.hpp"
#include "zero/io/files/own_file.hpp"
#include "zero/launch/console.hpp"
#include "zero/model/objective.hpp"

namespace zero::monitor {
namespace {

using testing_support::content_of;

StepRecord quarter() {
  StepRecord record = testing_support::timed_record(25);
  record.report.loss = 1.0;
  record.report.learning_rate = 0.25f;
  record.report.loss_scale = 2.0f;
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
  const LogContext context{.steps = 100, .flops_per_unit = 1e6, .peak_flops = 1e10};
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
            "\"tokens_per_s\": 2000.0, \"step_ms\": 500.000, \"exposed_ms\": 1.000, "
            "\"forward_ms\": 125.000, \"backward_ms\": 250.000, \"reduce_ms\": 31.250, "
            "\"optimizer_ms\": 62.500, \"gather_ms\": 15.625}\n");
}

TEST(MetricsLine, TellsASpikeFromAnOverflow) {
  StepRecord record = quarter();
  record.report.skipped = 1;
  EXPECT_NE(metrics_line(record).find("\"skipped\": true, \"tokens\""), std::string::npos);
  record.report.spike = 1;
  EXPECT_NE(metrics_line(record).find("\"skipped\": true, \"spike\": true, \"tokens\""),
            std::string::npos);
  EXPECT_NE(step_line(record, {.steps = 100}, 1.0).find("  skipped as a spike  ETA"),
            std::string::npos);
}

TEST(MetricsLine, TellsAStepThatItsAuditHasRejected) {
  StepRecord record = quarter();
  record.report.skipped = 1;
  record.rejected = true;
  EXPECT_NE(metrics_line(record).find("\"skipped\": true, \"rejected\": true, \"tokens\""),
            std::string::npos);
  EXPECT_NE(step_line(record, {.steps = 100}, 1.0).find("  skipped by its audit  ETA"),
            std::string::npos);
}

TEST(MetricsLine, TellsTheBytesOfADevice) {
  StepRecord record = quarter();
  record.device_bytes_peak = 123456;
  const std::string line = metrics_line(record);
  EXPECT_TRUE(line.ends_with("\"gather_ms\": 15.625, \"device_bytes_peak\": 123456}\n")) << line;
}

TEST(MetricsLine, TellsTheBytesThatLeaveTheNode) {
  StepRecord record = quarter();
  record.node_bytes_sent = 4096;
  const std::string line = metrics_line(record);
  EXPECT_TRUE(line.ends_with("\"gather_ms\": 15.625, \"node_bytes_sent\": 4096}\n")) << line;
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

TEST(BreakdownLine, GivesMeansOfTheStepsSinceTheLastOne) {
  Window window;
  window.add(quarter());
  std::string line;
  append_breakdown_line(line, window);
  EXPECT_EQ(line,
            "    forward 125.0 ms  backward 250.0 ms  reduce 31.2 ms  optimizer 62.5 ms  "
            "gather 15.6 ms  waiting 1.0 ms of 500.0 ms\n");
  StepRecord faster = quarter();
  faster.seconds = 0.3;
  faster.phases[size_t(run::Phase::forward)] = 0.025;
  window.add(faster);
  line.clear();
  append_breakdown_line(line, window);
  EXPECT_TRUE(line.starts_with("    forward 75.0 ms")) << line;
  EXPECT_TRUE(line.ends_with("of 400.0 ms  (mean of 2 steps)\n")) << line;
}

state::Evaluation evaluation_of(int64_t step, double loss) {
  state::Evaluation evaluation{.step = step, .loss = loss, .counted = 100, .seconds = 0.25};
  evaluation.measure(model::pair_objective().settings.metrics, MetricSource::loss);
  return evaluation;
}

state::Evaluation evaluation_of(int64_t step) { return evaluation_of(step, 2); }

/// Scores of pairs, given as they are.
void add_texts(state::Evaluation& evaluation, double bleu) {
  const auto& metrics = model::pair_objective().settings.metrics;
  evaluation.metrics.push_back({&metrics[1], bleu});
  evaluation.metrics.push_back({&metrics[2], 0.5});
  evaluation.texts = 50;
  evaluation.texts_seconds = 1.5;
}

std::string evaluation_text(const state::Evaluation& evaluation) {
  std::string text;
  append_evaluation(text, evaluation);
  return text;
}

std::string evaluation_json(const state::Evaluation& evaluation) {
  std::string line;
  append_evaluation_line(line, evaluation);
  return line;
}

TEST(EvaluationText, TellsWhatTextsWereWorthWhereThereAreAny) {
  state::Evaluation evaluation = evaluation_of(10);
  const std::string loss =
      "evaluation after step 10  loss 2.0000  perplexity 7.389  100 tokens  0.2 s\n";
  EXPECT_EQ(evaluation_text(evaluation), loss);
  add_texts(evaluation, 12.345);
  EXPECT_EQ(evaluation_text(evaluation),
            loss + "generated after step 10  BLEU 12.35  exact match 0.5000  50 texts  1.5 s\n");
}

TEST(EvaluationJson, KeepsTheBitsOfTheLossAndIsJsonWhereItIsNoNumber) {
  state::Evaluation evaluation = evaluation_of(10);
  add_texts(evaluation, 12.5);
  EXPECT_EQ(evaluation_json(evaluation),
            "{\"step\": 10, \"loss\": 2, \"loss_hex\": \"4000000000000000\", \"perplexity\": "
            "7.3890560989306504, \"tokens\": 100, \"seconds\": 0.250, \"bleu\": 12.5, "
            "\"exact_match\": 0.5, \"texts\": 50, \"texts_seconds\": 1.500}\n");
  evaluation = evaluation_of(10, std::numeric_limits<double>::quiet_NaN());
  EXPECT_NE(evaluation_json(evaluation).find("\"perplexity\": null"), std::string::npos);
}

TEST(EvaluationText, TellsAMetricOfScoresAndWhereItIsUndefined) {
  const auto& metrics = model::label_objective().settings.metrics;
  state::Evaluation evaluation{.step = 10, .loss = 2, .counted = 8, .counted_by = kBySample};
  evaluation.metrics.push_back({&metrics[0], 0.875});
  evaluation.metrics.push_back({&metrics[3], -std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(
      evaluation_text(evaluation),
      "evaluation after step 10  loss 2.0000  accuracy 0.8750  Pearson correlation undefined  "
      "8 samples  0.0 s\n");
  EXPECT_NE(evaluation_json(evaluation).find("\"accuracy\": 0.875, \"pearson\": null, \"samples\""),
            std::string::npos);
}

class RunLogTest : public ::testing::Test {
 protected:
  RunLogTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  /// What a log of so many equal steps prints.
  std::string printed(const LogContext& context, int64_t steps) {
    ::testing::internal::CaptureStdout();
    launch::Console console(true);
    RunLog log(console, folder_, context);
    for (int64_t step = 1; step <= steps; ++step) {
      StepRecord record = quarter();
      record.report.step = step;
      log.step(record);
    }
    return ::testing::internal::GetCapturedStdout();
  }
  const std::string folder_ = ::testing::TempDir() + "zeroapp-run-log";
};

TEST_F(RunLogTest, WritesEveryStepAndPrintsSome) {
  ::testing::internal::CaptureStderr();
  const std::string out = printed({.steps = 8, .last = 5, .interval = 3}, 5);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3) << "steps 1, 3 and 5: " << out;
  const std::string metrics = content_of(folder_ + "/metrics.jsonl");
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 5);
}

TEST_F(RunLogTest, BreaksDownWhatLiesBetweenTwoLines) {
  const std::string out = printed({.steps = 4, .last = 4, .breaks_down = true, .interval = 4}, 4);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 4) << out;
  EXPECT_NE(out.find("(mean of 3 steps)"), std::string::npos) << "2 to 4: " << out;
}

TEST_F(RunLogTest, WithdrawsAPeakThatAStepExceeds) {
  const LogContext slow{
      .steps = 3, .last = 3, .flops_per_unit = 1e6, .peak_flops = 1e9, .interval = 1};
  const std::string out = printed(slow, 3);  // 2000 tokens a second are 2e9
  EXPECT_EQ(out.find("% of peak"), std::string::npos) << out;
  EXPECT_TRUE(out.starts_with("steps are faster than the product peak above")) << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 4) << "it says so once: " << out;
}

TEST_F(RunLogTest, WritesTheTimesOfSeveralRanks) {
  launch::Console console(false);
  const std::vector<launch::Ballot> one(1), two = {{.compute_ms = 2}, {.compute_ms = 3}};
  const LogContext context{.steps = 9, .last = 9, .interval = 2};
  {
    RunLog log(console, folder_, context, {}, {.hosts = {"n1"}, .devices = {""}});
    log.ranks(2, one);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/ranks.jsonl"));
  {
    RunLog log(console, folder_, context, {}, {.hosts = {"n1", "n2"}, .devices = {"", ""}});
    for (int64_t step = 1; step <= 4; ++step) log.ranks(step, two);
  }
  const std::string lines = content_of(folder_ + "/ranks.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3) << "steps 1, 2 and 4: " << lines;
  LogContext later = context;
  later.done = 2;
  const RunLog log(console, folder_, later, {}, {.hosts = {"n1", "n2"}, .devices = {"", ""}});
  EXPECT_EQ(std::ranges::count(content_of(folder_ + "/ranks.jsonl"), '\n'), 2);
}

TEST_F(RunLogTest, KeepsTheTimesOfMoreRanksThanThereAreNow) {
  launch::Console console(false);
  LogContext context{.steps = 9, .last = 9, .interval = 1};
  const std::vector<std::string> hosts(100, "node-of-a-cluster"), devices(100);
  {
    RunLog log(console, folder_, context, {}, {.hosts = hosts, .devices = devices});
    for (int64_t step = 1; step <= 3; ++step) log.ranks(step, std::vector<launch::Ballot>(100));
  }
  context.done = 2;
  for (const size_t ranks : {2, 1}) {
    const RunLog log(console, folder_, context, {},
                     {.hosts = std::vector<std::string>(ranks, "n1"),
                      .devices = std::vector<std::string>(ranks)});
    EXPECT_EQ(std::ranges::count(content_of(folder_ + "/ranks.jsonl"), '\n'), context.done);
    --context.done;
  }
}

TEST_F(RunLogTest, AddsUpTheTimeOfEarlierLaunches) {
  printed({.steps = 9, .last = 5}, 5);
  launch::Console console(false);
  const RunLog log(console, folder_, {.steps = 9, .last = 9, .done = 3});
  EXPECT_EQ(log.earlier_seconds(), 1.5) << "of steps 1 to 3; the others are taken again";
  EXPECT_EQ(log.seconds(), 0);
}

TEST_F(RunLogTest, KeepsEvaluationsOfStepsThatAreDoneAndEachOnce) {
  const auto steps_after = [&](int64_t done, std::initializer_list<int64_t> steps) {
    ::testing::internal::CaptureStdout();
    launch::Console console(true);
    RunLog log(console, folder_, {.steps = 9, .last = 9, .done = done, .evaluates = true});
    for (const int64_t step : steps) log.evaluation(evaluation_of(step));
    ::testing::internal::GetCapturedStdout();
    std::string found;
    const std::string lines = content_of(folder_ + "/evaluations.jsonl");
    for (size_t at = lines.find("\"step\": "); at != lines.npos;
         at = lines.find("\"step\": ", at + 1))
      found += lines[at + 8];
    return found;
  };
  EXPECT_EQ(steps_after(0, {2, 4, 6}), "246");
  EXPECT_EQ(steps_after(4, {4, 6, 8}), "2468") << "6 is made anew, 4 is not said twice";
}

TEST_F(RunLogTest, TakesNoLineThatNoRunHasWrittenAndFollowsNoLink) {
  const std::string path = folder_ + "/metrics.jsonl";
  replace_own(path, "{\"step\": 1, " + std::string(1 << 20, ' '));
  launch::Console console(false);
  { const RunLog log(console, folder_, {.steps = 9, .last = 9, .done = 3}); }
  EXPECT_EQ(content_of(path), "");
  replace_own(folder_ + "/theirs", "theirs");
  std::filesystem::remove(path);
  std::filesystem::create_symlink("theirs", path);
  EXPECT_THROW(RunLog(console, folder_, {.steps = 9, .last = 9}), Error);
  EXPECT_EQ(content_of(folder_ + "/theirs"), "theirs");
}

TEST_F(RunLogTest, KeepsWholeLinesWhereTheDiskIsFull) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  ::testing::internal::CaptureStderr();
  printed({.steps = 9, .last = 9}, 9);
  setrlimit(RLIMIT_FSIZE, &before);
  const std::string warned = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(warned.begin(), warned.end(), '\n'), 1) << warned;
  const std::string metrics = content_of(folder_ + "/metrics.jsonl");
  EXPECT_TRUE(metrics.size() > 300 && metrics.size() <= 1000) << metrics.size();
  EXPECT_TRUE(metrics.ends_with("}\n")) << metrics;
}

TEST(DurationText, HasTwoUnitsAtMost) {
  EXPECT_EQ(duration_text(41.4), "41 s");
  EXPECT_EQ(duration_text(185), "3 m 05 s");
  EXPECT_EQ(duration_text(3720), "1 h 02 m");
}

}  // namespace
}  // namespace zero::monitor
