// Ranks: 1
#include "zero/report/top.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "src/report/rank_rows.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/written_run.hpp"
#include "zero/base/error.hpp"

namespace zero::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::WrittenRun;

std::string step_line(int step) {
  return "{\"step\": " + std::to_string(step) +
         ", \"loss\": 2.5, \"grad_norm\": 0.5, \"lr\": 0.001, \"skipped\": false, "
         "\"tokens_per_s\": 1000.0, \"step_ms\": 200, \"exposed_ms\": 50, \"forward_ms\": 100}\n";
}

std::string rank_line(int step, const std::string& compute_ms) {
  return "{\"step\": " + std::to_string(step) + ", \"compute_ms\": [" + compute_ms +
         "], \"waited_ms\": [10, 10, 0], \"hosts\": [\"n1\", \"n1\", \"n2\"]}\n";
}

void write_launch(const WrittenRun& run, const std::string& ended) {
  run.write(
      "launches.jsonl",
      "{\"start\":\"2026-11-29T05:00:00Z\",\"host\":\"n1\",\"ranks\":2,\"ended\":" + ended + "}\n");
}

TEST(Top, ShowsTheLastStepAndTheTimeLeft) {
  const WrittenRun run("live");
  run.write("effective.toml", "[run]\nsteps = 100\nwalltime = 0\nstop_at = 90\n");
  run.write("lock", "host elsewhere process 17\n");
  run.write("metrics.jsonl", step_line(9) + step_line(10) + "{\"step\": 11, ");
  write_launch(run, "null");
  EXPECT_THAT(
      top_text(run.path(), -1),
      AllOf(HasSubstr("running, 2 ranks, host n1"),
            HasSubstr("step 10/100 10.0 %  loss 2.5000  norm 0.5  lr 1.00e-03  200.0 ms  1000 "
                      "tokens/s  ETA 18 s\n"),
            HasSubstr("forward    ####################....................     100.0 ms"),
            HasSubstr("waiting    ##########.."), HasSubstr("saved     nothing yet"),
            HasSubstr("ends      after step 90 (run.stop_at)"), Not(HasSubstr("lagging"))));
  EXPECT_THAT(top_text(run.path(), 5), HasSubstr("by the limit of Slurm's job in 5 s"));
  EXPECT_FALSE(has_ended(run.path()));
  write_launch(run, "\"finished step 10 of 100\"");
  EXPECT_TRUE(has_ended(run.path()));
  EXPECT_THAT(top_text(run.path(), -1), Not(HasSubstr("ends ")));
}

TEST(Top, NamesTheEndThatComesFirst) {
  const WrittenRun run("ends");
  run.write("lock", "host elsewhere process 17\n");
  const std::time_t now = std::time(nullptr);
  char start[32];
  std::strftime(start, sizeof start, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  run.write("launches.jsonl", std::string("{\"start\":\"") + start + "\",\"ranks\":1}\n");
  run.write("metrics.jsonl", step_line(10));
  const auto end_with = [&](const std::string& settings, double job_seconds) {
    run.write("effective.toml", "[run]\n" + settings);
    return top_text(run.path(), job_seconds);
  };
  EXPECT_THAT(end_with("steps = 100000\nwalltime = 7210\n", -1),
              HasSubstr("ends      by run.walltime in 2 h 00 m"));
  EXPECT_THAT(end_with("steps = 100000\nwalltime = 7210\n", 60),
              HasSubstr("ends      by the limit of Slurm's job in 1 m 00 s"));
  EXPECT_THAT(end_with("steps = 100000\nwalltime = 7210\nstop_at = 90\n", 60),
              HasSubstr("ends      after step 90 (run.stop_at)"));
  EXPECT_THAT(end_with("steps = 100\nwalltime = 7210\nstop_at = 200\n", 60),
              HasSubstr("ends      after its last step"));
}

TEST(Top, NamesRanksThatLag) {
  const WrittenRun run("lagging");
  run.write("metrics.jsonl", step_line(1));
  std::string lines;
  for (int step = 1; step <= 20; ++step) lines += rank_line(step, "10, 10, 20");
  run.write("ranks.jsonl", lines);
  EXPECT_THAT(top_text(run.path(), -1), HasSubstr("lagging   rank 2 on n2 2.00 x\n"));
  EXPECT_TRUE(lagging_ranks(lines.substr(0, 20)).empty()) << "half a line";
  const size_t second = lines.find('\n') + 1;
  EXPECT_TRUE(lagging_ranks(lines.substr(second)).empty()) << "19 lines";
  lines.clear();
  for (int step = 1; step <= 20; ++step) lines += rank_line(step, "4, 4, 8");
  EXPECT_TRUE(lagging_ranks(lines).empty()) << "less than five milliseconds";
}

TEST(Top, RefusesAFolderOfNoRun) {
  const WrittenRun run("none");
  EXPECT_THAT(testing_support::refusal_of(Exit::kInput, [&] { top_text(run.path(), -1); }),
              HasSubstr("is the folder of no run"));
}

}  // namespace
}  // namespace zero::report
