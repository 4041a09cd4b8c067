// Ranks: 1
#include <gtest/gtest.h>

#include <ctime>
#include <map>

#include "zero/launch/stop.hpp"

namespace zero::launch {
namespace {

using namespace std::chrono_literals;

TEST(SecondsOfTimeLeft, ReadsWhatSqueuePrints) {
  EXPECT_EQ(seconds_of_time_left("30:00               \n"), 1800);
  EXPECT_EQ(seconds_of_time_left("0:05"), 5);
  EXPECT_EQ(seconds_of_time_left("2:00:01"), 7201);
  EXPECT_EQ(seconds_of_time_left("1-02:03:04"), 93784);
  EXPECT_EQ(seconds_of_time_left("0:00"), 0);
}

TEST(SecondsOfTimeLeft, OfWhatIsNoTimeIsNone) {
  for (const char* words : {"",
                            " ",
                            "UNLIMITED",
                            "NOT_SET",
                            "INVALID",
                            "5",
                            "-1:00",
                            "1:-2",
                            "1-02:03",
                            "1-5",
                            "-",
                            "1-",
                            "1:2:3:4",
                            "1:60",
                            "a:01",
                            "1:2x",
                            ":",
                            "1::2",
                            "9999999999999:00",
                            "1-1-02:03:04"}) {
    EXPECT_FALSE(seconds_of_time_left(words)) << words;
  }
}

TEST(FirstLineOf, IsWhatAProgramPrintsInTime) {
  EXPECT_EQ(first_line_of({"printf", "one\ntwo\n"}, 5s), "one");
  EXPECT_EQ(first_line_of({"printf", "alone"}, 5s), "alone");
  EXPECT_EQ(first_line_of({"true"}, 5s), "");
  EXPECT_EQ(first_line_of({"zeroapp-no-such-program"}, 5s), "");
}

TEST(FirstLineOf, WaitsForNobodyThatIsLate) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(first_line_of({"sleep", "20"}, 50ms), "");
  EXPECT_EQ(first_line_of({"yes", std::string(300, 'x')}, 5s).size() / 256, 1u) << "no newline yet";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

std::optional<JobEnd> end_with(const std::map<std::string, std::string>& variables) {
  return job_end([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(JobEnd, IsThatOfTheEnvironmentWhereItIsToCome) {
  const auto end = end_with({{"SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + 600)}});
  ASSERT_TRUE(end);
  EXPECT_NEAR(end->seconds, 600, 2);
  EXPECT_EQ(end->source, "SLURM_JOB_END_TIME");
}

TEST(JobEnd, IsNoneOutsideOfAJob) {
  EXPECT_FALSE(end_with({}));
  EXPECT_FALSE(end_with({{"SLURM_JOB_END_TIME", "1000"}})) << "long gone";
  EXPECT_FALSE(end_with({{"SLURM_JOB_END_TIME", "soon"}}));
  EXPECT_FALSE(end_with({{"SLURM_JOB_ID", "-h"}}));
}

}  // namespace
}  // namespace zero::launch
