// Ranks: 1
#include "zero/report/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "src/report/page_facts.hpp"
#include "src/report/trace_lanes.hpp"
#include "tests/support/content_of.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/written_run.hpp"
#include "zero/base/error.hpp"

namespace zero::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::refusal_of;
using testing_support::WrittenRun;

constexpr const char* kHeadings[] = {"Loss and evaluation",
                                     "Speed",
                                     "Where a step goes",
                                     "Memory",
                                     "Ranks",
                                     "Checkpoints and launches",
                                     "Settings",
                                     "Hashes"};

std::string step_line(int step, const std::string& loss, const char* skipped = "false") {
  return text("{\"step\": ", step, ", \"loss\": ", loss,
              ", \"loss_hex\": \"4004000000000000\", \"grad_norm\": 0.5, \"lr\": 0.001, "
              "\"skipped\": ",
              skipped,
              ", \"tokens\": 64, \"tokens_per_s\": 1000.0, \"step_ms\": 200.000, \"exposed_ms\": "
              "20.000, \"forward_ms\": 100.000, \"backward_ms\": 80.000}\n");
}

std::string page_of(const std::vector<std::string>& runs) {
  const std::string page = report_page(runs);
  for (const char* heading : kHeadings)
    EXPECT_THAT(page, HasSubstr(text("<h2>", heading, "</h2>")));
  EXPECT_THAT(
      page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("http://")), Not(HasSubstr("https://")),
                  Not(HasSubstr("nan")), Not(HasSubstr("inf "))));
  return page;
}

void write_whole(const WrittenRun& run) {
  run.write("metrics.jsonl", step_line(1, "4") + step_line(2, "3", "true") + step_line(3, "2"));
  run.write("evaluations.jsonl",
            "{\"step\": 2, \"loss\": 3.5, \"bleu\": 7, \"tokens\": 9}\n"
            "{\"step\": 3, \"loss\": 3.25, \"bleu\": 8, \"tokens\": 9}\n");
  run.write("launches.jsonl",
            "{\"start\":\"2026-11-29T05:00:00Z\",\"host\":\"n1\",\"ranks\":2,\"threads\":1,"
            "\"version\":\"1\",\"command\":[\"zeroapp\",\"a.toml\"],\"end\":null,\"ended\":"
            "\"killed\"}\n"
            "{\"start\":\"2026-11-29T06:00:00Z\",\"host\":\"n1\",\"ranks\":2,\"threads\":1,"
            "\"version\":\"1\",\"command\":[\"zeroapp\",\"a.toml\"],\"resumed_from_step\":2,"
            "\"end\":\"2026-11-29T06:01:00Z\",\"ended\":\"finished step 3 of 3\"}\n");
  run.write(
      "effective.toml",
      "[run]\nsteps = 3  # a.toml:2\nseed = 1  # default\n[zero]\nstage = 2  # command line\n");
  run.write("summary.json",
            R"({"steps": 3, "launch": {"first_step": 3, "train_seconds": 0.2},
                "peak_flops": 1e6, "flops_per_unit": 250,
                "forecast": {"step_seconds": 0.1, "exposed_seconds": 0.01,
                             "lane_seconds": {"compute": 0.09}},
                "lanes": {"compute": {"busy_seconds": {"mean": 0.18},
                                      "waited_seconds": {"mean": 0.02}}},
                "memory": {"device": {"planned_bytes": 0, "allocated_bytes": 0},
                           "host": {"planned_bytes": 1048576, "allocated_bytes": 1048576},
                           "nvme": {"planned_bytes": 0, "allocated_bytes": 0},
                           "peak_pss_bytes": {"max": 3145728}},
                "state_sha256": "ab12", "state_xxh3": "cd34"})");
  run.write("ranks.jsonl",
            "{\"step\": 1, \"compute_ms\": [10, 12], \"waited_ms\": [2, 0], \"hosts\": [\"n1\", "
            "\"n2\"], \"devices\": [\"\", \"\"]}\n");
}

TEST(Report, TellsTheWholeOfARun) {
  const WrittenRun run("whole");
  write_whole(run);
  EXPECT_THAT(
      page_of({run.path()}),
      AllOf(HasSubstr("After 3 of 3 steps in 2 launches the state of"),
            HasSubstr("is: finished step 3 of 3. The loss went from 4.0000 to 2.0000, the last "
                      "evaluation found 3.2500, the best 3.2500 after step 3, 1 step skipped. A "
                      "step takes 200.0 ms, at 1000 tokens/s and 25.0 % of peak; compute waits "
                      "10.0 % of it."),
            HasSubstr("Evaluations: bleu"), HasSubstr("1 skipped step"),
            HasSubstr("<td>compute</td><td>180.00</td><td>90.00</td>"), HasSubstr("host, planned"),
            HasSubstr("1.00 MiB"),
            HasSubstr("<td>1</td><td>n2</td><td></td><td>12.00</td><td>1.20</td>"),
            HasSubstr("<td>run.steps</td><td>3</td><td>a.toml:2</td>"),
            HasSubstr("<td>zero.stage</td><td>2</td><td>command line</td>"),
            Not(HasSubstr("<td>run.seed</td>")), HasSubstr("ab12"), HasSubstr("cd34"),
            HasSubstr("<pre>zeroapp a.toml</pre>")));
}

TEST(Report, LaysRunsOverEachOther) {
  const WrittenRun one("one"), two("two");
  write_whole(one);
  write_whole(two);
  two.write("effective.toml", "[run]\nsteps = 3  # a.toml:2\n[zero]\nstage = 3  # command line\n");
  two.write("metrics.jsonl", step_line(1, "4") + step_line(2, "1"));
  EXPECT_THAT(
      page_of({one.path(), two.path()}),
      AllOf(HasSubstr("What differs between the runs"),
            HasSubstr("<td>zero.stage</td><td>2</td><td>3</td>"),
            HasSubstr("The lowest last loss, 1.0000, is that of"), HasSubstr("class=\"l s1\"")));
  const std::vector<std::string> many(kMostRuns + 1, one.path());
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { report_page(many); }), HasSubstr("at most 12"));
}

TEST(Report, BearsRunsWithLittle) {
  const WrittenRun run("little");
  run.write("metrics.jsonl", step_line(1, "null"));
  EXPECT_THAT(page_of({run.path()}),
              AllOf(HasSubstr("No loss was finite"), HasSubstr("No finite value")));
  run.write("metrics.jsonl", "");
  EXPECT_THAT(page_of({run.path()}), HasSubstr("No step has ended yet."));
  run.write("summary.json", "[1, 2");
  run.write("launches.jsonl", "damaged\n");
  run.write("ranks.jsonl", "{\"step\": 1}\n");
  run.write("trace.json", "{\"traceEvents\": [\n{\"ph\":\"X\"\n");
  page_of({run.path()});
}

TEST(Report, EscapesEveryTextOfAFile) {
  const WrittenRun run("<script>alert(1)<");
  const std::string evil = "<script>alert(2)</script>";
  run.write("metrics.jsonl", "{\"step\": 1, \"loss\": 2, \"" + evil + "_ms\": 1, \"" + evil +
                                 "_per_s\": 3, \"step_ms\": 2}\n");
  run.write("evaluations.jsonl", "{\"step\": 1, \"loss\": 2, \"" + evil + "\": 1}\n");
  run.write("launches.jsonl", "{\"start\":\"" + evil + "\",\"host\":\"" + evil +
                                  "\",\"command\":[\"" + evil + "\"],\"ended\":\"" + evil +
                                  "\",\"version\":\"" + evil + "\"}\n");
  run.write("effective.toml", "[run]\noutput = \"" + evil + "\"  # " + evil + "\n");
  run.write("summary.json", "{\"state_sha256\": \"" + evil +
                                "\", \"steps\": 1, \"launch\": "
                                "{\"first_step\": 1}, \"lanes\": {\"" +
                                evil + "\": {}}}");
  run.write("error.json", "{\"exit\": 5, \"what\": \"" + evil + "\"}");
  run.write("ranks.jsonl",
            "{\"step\": 1, \"compute_ms\": [1, 1], \"waited_ms\": [1, 1], "
            "\"hosts\": [\"" +
                evil + "\", \"\"]}\n");
  EXPECT_THAT(page_of({run.path()}), HasSubstr("&lt;script&gt;alert(2)"));
}

TEST(Report, ShowsLanesOfTheLastTracedStep) {
  const WrittenRun run("traced");
  run.write("metrics.jsonl", step_line(1, "2"));
  run.write("trace.json",
            R"({"displayTimeUnit": "ms", "traceEvents": [
{"ph":"M","name":"thread_name","tid":0,"args":{"name":"compute"},"pid":0},
{"ph":"M","name":"thread_name","tid":9,"args":{"name":"bodies"},"pid":0},
{"ph":"X","name":"step 7","tid":9,"ts":1000,"dur":2000,"args":{"step":7},"pid":0},
{"ph":"X","name":"linear","tid":0,"ts":1000,"dur":1000,"args":{"step":7},"pid":0},
{"ph":"X","name":"linear","tid":0,"ts":2500,"dur":500,"args":{"step":7},"pid":0},
{"ph":"X","name":"linear","tid":0,"ts":1000,"dur":2000,"args":{"step":7},"pid":1}
]}
)");
  EXPECT_THAT(
      page_of({run.path()}),
      AllOf(HasSubstr("Step 7 of the first rank, traced, of 2.00 ms."),
            HasSubstr("M0.0 0h500.0v10H0.0zM750.0 0h250.0v10H750.0z"), HasSubstr("1.50 ms")));
}

TEST(Report, StaysSmallAndQuickForManySteps) {
  const WrittenRun run("many");
  std::string lines;
  for (int step = 1; step <= 100'000; ++step)
    lines += step_line(step, text(2 + (step * 7919 % 1000) / 1000.0), step % 5 ? "false" : "true");
  run.write("metrics.jsonl", lines);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_LT(page_of({run.path()}).size(), 1'000'000u);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count(), 10) << "2 s on an idle machine";
}

TEST(Report, ShowsTheFirstOfEndlessEvaluations) {
  const WrittenRun run("endless");
  run.write("metrics.jsonl", step_line(1, "2"));
  std::string lines;
  for (int step = 1, name = 0; step <= 20'000; ++step) {
    lines += text("{\"step\": ", step, ", \"loss\": ", step);
    for (int i = 0; i < 5; ++i) lines += text(", \"n", name++, "\": 1");
    lines += "}\n";
  }
  run.write("evaluations.jsonl", lines);
  const Evaluations evaluations = read_run(run.path()).evaluations;
  ASSERT_EQ(evaluations.columns.size(), 64u);
  EXPECT_EQ(evaluations.columns[0].name, "loss");
  EXPECT_EQ(evaluations.columns[0].values.back(), 20'000);
  EXPECT_EQ(evaluations.columns[63].name, "n62");
  EXPECT_EQ(evaluations.columns[63].values.size(), 20'000u);
}

TEST(Report, ShowsTheFirstOfEndlessLanes) {
  const WrittenRun run("lanes");
  std::string trace =
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"tid\":-1,\"args\":{\"name\":\"bodies\"}}\n"
      "{\"ph\":\"X\",\"name\":\"step 7\",\"tid\":-1,\"ts\":0,\"dur\":1000,\"args\":{\"step\":7}}\n";
  for (int lane = 0; lane < 20'000; ++lane) {
    trace +=
        text("{\"ph\":\"M\",\"name\":\"thread_name\",\"tid\":", lane, ",\"args\":{\"name\":\"lane ",
             lane, "\"}}\n{\"ph\":\"X\",\"name\":\"linear\",\"tid\":", lane,
             ",\"ts\":0,\"dur\":500,\"args\":{\"step\":7}}\n");
  }
  run.write("trace.json", trace);
  const TracedStep step = read_trace(run.path() + "/trace.json");
  ASSERT_EQ(step.lanes.size(), 64u);
  EXPECT_EQ(step.lanes[63].name, "lane 63");
  EXPECT_EQ(step.lanes[63].busy_ms, 0.5);
}

TEST(WriteReport, ReplacesOnlyReports) {
  const WrittenRun run("written");
  run.write("metrics.jsonl", step_line(1, "2") + step_line(2, "1"));
  const std::vector<std::string> runs = {run.path()};
  for (const char* name : {"/page.html", "/loss.svg"}) {
    write_report(runs, run.path() + name);
    EXPECT_NO_THROW(write_report(runs, run.path() + name));
  }
  EXPECT_THAT(testing_support::content_of(run.path() + "/loss.svg"), HasSubstr("<svg xmlns"));
  run.write("mine.html", "my own page");
  EXPECT_THAT(refusal_of(Exit::kIo, [&] { write_report(runs, run.path() + "/mine.html"); }),
              HasSubstr("is there already, and no report"));
}

TEST(WriteReport, LeavesWhatItCannotReadAndForeignTemporaryFiles) {
  const WrittenRun run("kept");
  run.write("metrics.jsonl", step_line(1, "2"));
  const std::vector<std::string> runs = {run.path()};
  const std::string page = run.path() + "/page.html";
  const auto refusal = [&](const std::string& path) {
    return refusal_of(Exit::kIo, [&] { write_report(runs, path); });
  };
  std::filesystem::create_symlink("loop.html", run.path() + "/loop.html");
  EXPECT_THAT(refusal(run.path() + "/loop.html"), HasSubstr("and cannot be read ("));
  EXPECT_TRUE(std::filesystem::is_symlink(run.path() + "/loop.html"));
  run.write("page.html.tmp", "my own notes");
  EXPECT_THAT(refusal(page), HasSubstr("page.html.tmp: is there already, and no report"));
  EXPECT_EQ(testing_support::content_of(page + ".tmp"), "my own notes");
  run.write("page.html.tmp", "<!DOCTYPE html>\n<!-- zeroapp report -->\nhalf of a");
  write_report(runs, page);
  EXPECT_FALSE(std::filesystem::exists(page + ".tmp")) << "left by a report that was killed";
}

}  // namespace
}  // namespace zero::report
