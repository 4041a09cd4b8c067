// Ranks: 1
#include "zero/report/measured.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/written_run.hpp"
#include "zero/base/error.hpp"

namespace zero::report {
namespace {

using ::testing::HasSubstr;
using testing_support::WrittenRun;

std::string line(int step, int ms) {
  const std::string time = std::to_string(ms);
  return "{\"step\": " + std::to_string(step) + ", \"loss\": 2.5, \"tokens\": 64, " +
         "\"tokens_per_s\": 1000.0, \"step_ms\": " + time +
         ", \"exposed_ms\": 5, \"forward_ms\": 10, \"backward_ms\": 20, \"reduce_ms\": 3, " +
         "\"optimizer_ms\": 4, \"gather_ms\": 1}\n";
}

/// Writes a launch of steps 11 to 16 with `how` it ended.
void write_run(const WrittenRun& run, const std::string& how) {
  run.write("launches.jsonl",
            "{\"host\":\"n1\",\"ranks\":4,\"threads\":2,\"ended\":\"finished step 10\"}\n"
            "{\"host\":\"n1\",\"ranks\":2,\"threads\":3,\"resumed_from_step\":10,\"ended\":" +
                how + "}\n");
  std::string lines = line(9, 7) + line(10, 7);
  int step = 10;
  for (const int ms : {900, 500, 100, 110, 120, 140}) lines += line(++step, ms);
  run.write("metrics.jsonl", lines + "{\"step\": 17, ");
}

TEST(Measured, HasTheMiddleOfTheLastLaunchWithoutItsFirstSteps) {
  const WrittenRun run("measured");
  write_run(run, "\"finished step 16 of 16\"");
  run.write("ranks.jsonl",
            "{\"step\":15,\"compute_ms\":[1,2],\"waited_ms\":[0,0],\"hosts\":[\"n1\",\"n2\"],"
            "\"devices\":[\"NVIDIA H200\",\"\"]}\n");
  const Measured measured = measured_of(run.path());
  EXPECT_EQ(measured.steps, 4);
  EXPECT_EQ(measured.ranks, 2);
  EXPECT_EQ(measured.threads, 3);
  EXPECT_EQ(measured.node_ranks, 1);
  EXPECT_EQ(measured.device, "NVIDIA H200");
  EXPECT_DOUBLE_EQ(measured.step_seconds, 0.12);
  EXPECT_DOUBLE_EQ(measured.phases.at("backward"), 0.02);
  EXPECT_EQ(measured.unit, "tokens");
  EXPECT_EQ(measured.units, 64);
  EXPECT_TRUE(measured.kinds.empty()) << "there is no summary";
}

TEST(Measured, TakesKindsFromTheSummaryOfTheLastLaunchAlone) {
  const WrittenRun run("summary");
  write_run(run, "\"finished step 16 of 16\"");
  const std::string times =
      ", \"regions\": {\"linear\": {\"mean\": 0.5, \"calls\": 10}, \"odd\": 3}, \"lanes\": "
      "{\"reduce\": {\"busy_seconds\": {\"mean\": 0.6}}}}";
  run.write("summary.json",
            "{\"steps\": 16, \"ranks\": 2, \"launch\": {\"first_step\": 11}" + times);
  const Measured measured = measured_of(run.path());
  EXPECT_EQ(measured.kinds.size(), 1u);
  EXPECT_EQ(measured.kinds.at("linear").calls, 10);
  EXPECT_DOUBLE_EQ(measured.lanes.at("reduce"), 0.1);
  run.write("summary.json",
            "{\"steps\": 10, \"ranks\": 2, \"launch\": {\"first_step\": 1}" + times);
  EXPECT_TRUE(measured_of(run.path()).kinds.empty()) << "an earlier launch's";
  write_run(run, "null");
  EXPECT_TRUE(measured_of(run.path()).kinds.empty()) << "the launch has not ended";
}

TEST(Measured, NamesTheFileThatIsMissingOrDamaged) {
  const auto refusal = [](const WrittenRun& run) {
    return testing_support::refusal_of(Exit::kInput, [&] { measured_of(run.path()); });
  };
  const WrittenRun run("damaged");
  EXPECT_THAT(refusal(run), HasSubstr("is the folder of no run"));
  run.write("metrics.jsonl", line(1, 5));
  EXPECT_THAT(refusal(run), HasSubstr("launches.jsonl: is missing"));
  run.write("launches.jsonl", "{\"host\":\"n1\",\"ranks\":\"two\"}\n");
  EXPECT_THAT(refusal(run), HasSubstr("names no ranks and threads"));
  write_run(run, "\"killed\"");
  run.write("metrics.jsonl", line(11, 5) + line(12, 5) + line(13, 5) + line(14, 5));
  EXPECT_THAT(refusal(run), HasSubstr("has 2 steps behind its first 2"));
  run.write("metrics.jsonl", "{\"step\": 13}\n{\"step\": 14}\n{\"step\": 15}\n");
  EXPECT_THAT(refusal(run), HasSubstr("lack the times"));
  write_run(run, "\"killed\"");
  run.write("summary.json", "{\"steps\": 1");
  EXPECT_THAT(refusal(run), HasSubstr("summary.json: is no JSON object"));
}

}  // namespace
}  // namespace zero::report
