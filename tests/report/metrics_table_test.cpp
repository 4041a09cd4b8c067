// Ranks: 1
#include "zero/report/metrics_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/content_of.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/written_run.hpp"
#include "zero/base/error.hpp"

namespace zero::report {
namespace {

using ::testing::HasSubstr;
using testing_support::refusal_of;
using testing_support::WrittenRun;

std::string line_of(int step, const std::string& loss) {
  return "{\"step\": " + std::to_string(step) + ", \"loss\": " + loss +
         ", \"loss_hex\": \"40\", \"skipped\": false}\n";
}

std::string table_of(const WrittenRun& run, const TableOptions& options) {
  const testing_support::TempFile file("table", "");
  std::FILE* out = std::fopen(file.path().c_str(), "w");
  print_metrics(run.path(), options, out);
  std::fclose(out);
  return testing_support::content_of(file.path());
}

TEST(MetricsTable, JoinsLaunchesAndEvaluations) {
  const WrittenRun run("joined");
  run.write("metrics.jsonl", line_of(1, "3.5") + line_of(2, "9") + line_of(3, "9") +
                                 line_of(2, "2.5") + line_of(3, "null"));
  run.write("evaluations.jsonl", "{\"step\": 2, \"loss\": 2.25, \"bleu\": 7}\n");
  EXPECT_EQ(table_of(run, {.form = TableForm::csv}),
            "step,loss,loss_hex,skipped,eval_loss,eval_bleu\n"
            "1,3.5,40,false,,\n"
            "2,2.5,40,false,2.25,7\n"
            "3,nan,40,false,,\n");
  EXPECT_EQ(table_of(run, {.form = TableForm::tsv, .columns = {"eval_bleu", "step"}}),
            "eval_bleu\tstep\n\t1\n7\t2\n\t3\n");
  EXPECT_EQ(table_of(run, {.columns = {"step", "loss"}}),
            "step  loss\n   1   3.5\n   2   2.5\n   3   nan\n");
}

TEST(MetricsTable, ShowsEvaluationsOfStepsWithoutALine) {
  const WrittenRun run("evaluated");
  run.write("metrics.jsonl", line_of(2, "3"));
  run.write("evaluations.jsonl",
            "{\"step\": 1, \"loss\": 4}\n{\"step\": 2, \"loss\": 5}\n{\"step\": 3, \"loss\": 6}\n");
  EXPECT_EQ(table_of(run, {.form = TableForm::csv, .columns = {"step", "loss", "eval_loss"}}),
            "step,loss,eval_loss\n1,,4\n2,3,5\n3,,6\n");
}

TEST(MetricsTable, PassesOverWhatIsDamagedOrBeingWritten) {
  const WrittenRun run("damaged");
  run.write("metrics.jsonl", line_of(1, "3") + "{\"step\": 2, \"lo\n" + line_of(3, "4") +
                                 "{\"step\": 4, \"loss\": 5}");
  testing::internal::CaptureStderr();
  EXPECT_EQ(table_of(run, {.form = TableForm::csv, .columns = {"step", "loss"}}),
            "step,loss\n1,3\n3,4\n");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("1 damaged line passed over"));
}

TEST(MetricsTable, ReadsLinesBeyondOneWindow) {
  const WrittenRun run("long");
  std::string lines, wanted = "loss\n";
  for (int step = 1; step <= 30'000; ++step) {
    lines += line_of(step, std::to_string(step) + ".5");
    wanted += std::to_string(step) + ".5\n";
  }
  run.write("metrics.jsonl", lines);
  EXPECT_EQ(table_of(run, {.form = TableForm::csv, .columns = {"loss"}}), wanted);
}

TEST(MetricsTable, ShowsThePlainTextsOfAFile) {
  const WrittenRun run("hostile");
  run.write("metrics.jsonl", "{\"step\": 1, \"a,\xC2\x9B\": \"\x7F\xFFx\"}\n");
  EXPECT_EQ(table_of(run, {}), "step  a,??\n   1   ??x\n");
  EXPECT_EQ(table_of(run, {.form = TableForm::csv}), "step,\"a,\xC2\x9B\"\n1,\x7F\xFFx\n");
  const auto ask = [&] { table_of(run, {.columns = {"quuux"}}); };
  EXPECT_THAT(refusal_of(Exit::kUsage, ask), HasSubstr("they are: step, a,??"));
  run.write("metrics.jsonl", "{\"step\": 1, \"a\tb\": \"\t\"}\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(table_of(run, {.form = TableForm::tsv}), "step\n") << "a tab damages a line";
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("1 damaged line"));
}

TEST(MetricsTable, BearsEndlessNames) {
  const WrittenRun run("names");
  std::string lines;
  for (int step = 1, name = 0; step <= 1000; ++step) {
    lines += "{\"step\": " + std::to_string(step);
    for (int i = 0; i < 100; ++i) lines += ", \"n" + std::to_string(name++) + "\": 1";
    lines += "}\n";
  }
  run.write("metrics.jsonl", lines);
  testing::internal::CaptureStderr();
  const std::string table = table_of(run, {.form = TableForm::tsv});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("has more than 64 names"));
  const std::string head = table.substr(0, table.find('\n'));
  EXPECT_EQ(std::ranges::count(head, '\t'), 63);
  EXPECT_TRUE(head.ends_with("\tn62"));
}

TEST(MetricsTable, RefusesUnknownColumnsAndFolders) {
  const WrittenRun run("refused");
  const auto refusal = [&](const std::string& column) {
    return refusal_of(Exit::kUsage, [&] { table_of(run, {.columns = {column}}); });
  };
  run.write("metrics.jsonl", line_of(1, "3"));
  EXPECT_THAT(refusal("los"), HasSubstr("did you mean loss?"));
  EXPECT_THAT(refusal("quux"), HasSubstr("they are: step, loss, loss_hex, skipped"));
  const WrittenRun empty("empty");
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { table_of(empty, {}); }),
              HasSubstr("is the folder of no run"));
  EXPECT_THAT(refusal_of(Exit::kInput, [] { print_metrics("/no/such/run", {}, stdout); }),
              HasSubstr("/no/such/run: "));
}

}  // namespace
}  // namespace zero::report
