// Ranks: 1
#include "src/report/why_paragraph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/escaped_text.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/written_run.hpp"
#include "zero/base/error.hpp"
#include "zero/report/why.hpp"

namespace zero::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::WrittenRun;

std::string launch(const std::string& ended, const std::string& more = "") {
  return R"({"start":"2026-11-29T05:00:00Z","host":"n1","ranks":4,"threads":2,"version":"1",)"
         R"("command":["zeroapp","x.toml"],)" +
         more + R"("end":null,"ended":)" + (ended.empty() ? "null" : "\"" + ended + "\"") + "}\n";
}

/// A run that was at step 12 of 20 and saved step 10.
class RunEndTest : public ::testing::Test {
 protected:
  RunEndTest() {
    run_.write("metrics.jsonl", "{\"step\": 11, \"loss\": 2}\n{\"step\": 12, \"loss\": 2}\n");
    run_.write("effective.toml", "[run]\nsteps = 20  # x.toml:3\n");
    std::filesystem::create_directories(run_.path() + "/checkpoints/step00000010");
    run_.write("checkpoints/step00000010/MANIFEST.json", "{}");
  }
  std::string text_of(const std::string& launches) const {
    run_.write("launches.jsonl", launches);
    return end_text(run_end(run_.path()));
  }
  void fail(int exit, const std::string& what) const {
    run_.write("error.json", "{\"error\": \"E\", \"exit\": " + std::to_string(exit) +
                                 ", \"rank\": 3, \"host\": \"n2\", \"blames\": \"n2\", \"step\": "
                                 "12, \"what\": \"" +
                                 what + "\"}");
  }

  const WrittenRun run_{"ended"};
};

TEST_F(RunEndTest, AFinishedRunIsComplete) {
  EXPECT_THAT(text_of(launch("killed") + launch("finished step 20 of 20")),
              AllOf(HasSubstr("the last of its 2 launches (4 ranks, host n1) began at 2026"),
                    HasSubstr("It finished step 20 of 20 and is complete.")));
  EXPECT_THAT(text_of(launch("finished step 12 of 20 (run.stop_at)")),
              AllOf(HasSubstr("its launch ("), HasSubstr("with run.stop_at=0")));
}

TEST_F(RunEndTest, AStoppedRunGoesOnFromItsSave) {
  EXPECT_THAT(text_of(launch("stopped by SIGTERM after step 12 of 20")),
              HasSubstr("It was stopped by SIGTERM after step 12 of 20. The same command goes on "
                        "from step 10, and computes 2 steps again."));
}

TEST_F(RunEndTest, AFailureNamesItsCauseAndARemedy) {
  fail(10, "no word from rank 3");
  std::filesystem::create_directories(run_.path() + "/hangs");
  run_.write("hangs/n2.json",
             R"({"ranks": [{"rank": 2, "silent_seconds": 1, "step": 12, "last_op": "add"},)"
             R"({"rank": 3, "silent_seconds": 31.5, "step": 12, "last_op": "gather"}]})");
  EXPECT_THAT(text_of(launch("error E1000 in step 12")),
              AllOf(HasSubstr("ended with status 10 on rank 3 of node n2 in step 12: no word from"),
                    HasSubstr("It blames node n2."),
                    HasSubstr("node n2: rank 3 silent for 31.5 s in step 12, gather"),
                    HasSubstr("(sbatch --exclude)"), HasSubstr("from step 10")));
}

TEST_F(RunEndTest, ALaterStartThatFailedIsToldApart) {
  fail(2, "x.toml:3: run.stepps: unknown key");
  EXPECT_EQ(failure_of(run_.path())->exit, 2) << "the record bears no time to compare";
  EXPECT_THAT(text_of(launch("finished step 20 of 20")),
              AllOf(HasSubstr("is complete."),
                    HasSubstr("A later start failed before it began: x.toml:3: run.stepps")));
}

TEST_F(RunEndTest, AKilledRunIsTold) {
  EXPECT_THAT(text_of(launch("killed")), AllOf(HasSubstr("It was killed at step 12 of 20"),
                                               HasSubstr("out-of-memory killer")));
  EXPECT_THAT(text_of(launch("")), HasSubstr("It was killed at step 12 of 20"));
  RunEnd end = run_end(run_.path());
  end.slurm = "OUT_OF_MEMORY";
  EXPECT_THAT(end_text(end), AllOf(HasSubstr("Slurm says OUT_OF_MEMORY: "), HasSubstr("--mem"),
                                   Not(HasSubstr("dmesg"))));
}

TEST_F(RunEndTest, ALiveRunIsLeftAlone) {
  run_.write("lock", "host elsewhere process 17\n");
  EXPECT_THAT(text_of(launch("")), AllOf(HasSubstr("It is at step 12 of 20"),
                                         HasSubstr("host elsewhere process 17 holds the folder")));
}

TEST_F(RunEndTest, HostileTextsReachNoTerminal) {
  fail(3, "\\u001b[31mred\\u0007");
  text_of(launch("error E0300"));
  EXPECT_THAT(why(run_.path()), AllOf(HasSubstr("?[31mred?"), Not(HasSubstr("\x1b"))));
}

TEST(FileText, EscapesAndWraps) {
  EXPECT_EQ(escaped("<script>\"a\" & 'b'"), "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;");
  EXPECT_EQ(plain("\xC3\xA4\xC2\x9B\xFF\x7F"), "\xC3\xA4????");
  EXPECT_EQ(name_of_run("runs/mine/"), "mine");
  const std::string lines = in_lines(std::string(60, 'a') + " " + std::string(60, 'b'));
  EXPECT_EQ(lines, std::string(60, 'a') + "\n" + std::string(60, 'b') + "\n");
}

}  // namespace
}  // namespace zero::report
