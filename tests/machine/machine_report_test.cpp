// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/machine/probes.hpp"

namespace zero::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Finding found(const std::string& subject, const std::string& what) {
  return {.subject = subject, .found = what};
}

Finding measured(double figure) {
  return {.subject = "bandwidth", .found = "triad", .figure = figure, .unit = "GB/s"};
}

Finding stopping(Exit status) {
  return {.subject = "scratch",
          .verdict = Verdict::missing,
          .found = "read-only",
          .advice = "write elsewhere",
          .stops = status};
}

TEST(DoctorReport, FindingsTravelAsText) {
  const Findings back = unpack_findings(pack_findings({stopping(Exit::kIo), measured(12.5)}));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].verdict, Verdict::missing);
  EXPECT_EQ(back[0].advice, "write elsewhere");
  EXPECT_EQ(back[0].stops, Exit::kIo);
  EXPECT_EQ(back[1].verdict, Verdict::good);
  EXPECT_EQ(back[1].figure, 12.5);
  EXPECT_EQ(back[1].unit, "GB/s");
}

TEST(DoctorReport, RanksThatFindTheSameShareALine) {
  const auto lines = join_findings({{found("cores", "2 of 4"), found("MPI", "4.1")},
                                    {found("cores", "1 of 4"), found("MPI", "4.1")},
                                    {found("cores", "2 of 4"), found("MPI", "4.1")}});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0].ranks, ElementsAre(0, 2));
  EXPECT_EQ(lines[1].finding.found, "1 of 4") << "behind the line of the same subject";
  EXPECT_THAT(lines[1].ranks, ElementsAre(1));
  EXPECT_THAT(lines[2].ranks, ElementsAre(0, 1, 2));
  const std::string table = doctor_table(lines, 3);
  EXPECT_THAT(table, HasSubstr("ranks 0, 2: 2 of 4"));
  EXPECT_THAT(table, HasSubstr("rank 1: 1 of 4"));
  EXPECT_THAT(table, HasSubstr("MPI              4.1\n"));
}

TEST(DoctorReport, FiguresAreSummedOverRanks) {
  const auto lines = join_findings({{measured(12)}, {measured(14.5)}});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].finding.found, "12.0 to 14.5 GB/s a rank, 26.5 in all, triad");
  EXPECT_EQ(lines[0].finding.figure, 26.5);
  EXPECT_EQ(join_findings({{measured(120)}})[0].finding.found, "120 GB/s, triad");
}

TEST(DoctorReport, WhatOnlySomeRanksLookAtIsTheirs) {
  const auto lines = join_findings({{found("scratch", "9 GB")}, {}});
  EXPECT_THAT(doctor_table(lines, 2), HasSubstr("scratch          9 GB\n"));
}

TEST(DoctorReport, TheStatusIsTheFirstThatStopsTraining) {
  Finding idle = found("HDF5", "not built in");
  idle.verdict = Verdict::missing;
  EXPECT_EQ(status_of(join_findings({{idle, found("MPI", "4.1")}})), Exit::kFinished);
  const auto lines = join_findings({{idle}, {idle, stopping(Exit::kIo), stopping(Exit::kUsage)}});
  EXPECT_EQ(status_of(lines), Exit::kIo);
  const std::string table = doctor_table(lines, 2);
  EXPECT_THAT(table, HasSubstr("-> write elsewhere\n"));
  EXPECT_THAT(table, HasSubstr("0 good, 0 warnings, 2 missing: training would end with status 5"));
  EXPECT_THAT(doctor_table(join_findings({{found("MPI", "4.1")}}), 1),
              HasSubstr("1 good, 0 warnings, 0 missing: training can start\n"));
}

TEST(DoctorReport, AdviceOfSeveralLinesStaysBelowItsFinding) {
  Finding choice = found("choice", "deep queues");
  choice.advice = "write:\n[aio]";
  EXPECT_THAT(
      doctor_table(join_findings({{choice}}), 1),
      HasSubstr("\n" + std::string(26, ' ') + "-> write:\n" + std::string(29, ' ') + "[aio]\n"));
}

TEST(DoctorReport, JsonHoldsEveryFindingWithItsRanks) {
  const auto json = nlohmann::json::parse(
      doctor_json(join_findings({{measured(1)}, {measured(2), stopping(Exit::kIo)}}), 2));
  EXPECT_EQ(json["ranks"], 2);
  EXPECT_EQ(json["status"], 5);
  ASSERT_EQ(json["findings"].size(), 2u);
  EXPECT_EQ(json["findings"][0]["figure"], 3.0);
  EXPECT_EQ(json["findings"][1]["verdict"], "missing");
  EXPECT_THAT(json["findings"][1]["ranks"], ElementsAre(1));
}

}  // namespace
}  // namespace zero::machine
