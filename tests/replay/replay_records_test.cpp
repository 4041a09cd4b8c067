// Ranks: 1
#include "src/replay/replay_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/support/refusal.hpp"
#include "zero/base/text.hpp"
#include "zero/state/unit_digests.hpp"

namespace zero::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

class RecordedTest : public ::testing::Test {
 protected:
  RecordedTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void write(const char* name, const std::string& content) {
    std::ofstream(folder_ + "/" + name) << content;
  }
  std::string refusal() {
    return testing_support::refusal_of(Exit::kInput, [&] { read_recorded(folder_, 0, 100); });
  }

  const std::string folder_ = ::testing::TempDir() + "zeroapp-recorded";
};

std::string metrics_line(int step, const char* norm = "0.5") {
  return text("{\"step\": ", step, ", \"loss\": 1, \"loss_hex\": \"3ff0000000000000\", ",
              "\"grad_norm\": ", norm, ", \"skipped\": false, \"tokens\": 8}\n");
}

TEST_F(RecordedTest, HasTheStepsInBetweenAndLeavesOutACutLine) {
  write("metrics.jsonl", metrics_line(1) + metrics_line(2) + metrics_line(3, "null") +
                             metrics_line(4) + metrics_line(5).substr(0, 40));
  const Recorded recorded = read_recorded(folder_, 1, 100);
  EXPECT_THAT(recorded.steps, ElementsAre(Key(2), Key(3), Key(4)));
  EXPECT_EQ(recorded.steps.at(2).loss_bits, std::bit_cast<uint64_t>(1.0));
  EXPECT_EQ(recorded.steps.at(2).grad_norm, 0.5);
  EXPECT_FALSE(recorded.steps.at(3).grad_norm);
  EXPECT_EQ(read_recorded(folder_, 1, 3).steps.size(), 2u);
  EXPECT_EQ(last_recorded(folder_), 4);
}

TEST_F(RecordedTest, KnowsTheStepsThatAnAuditRejected) {
  std::string line = metrics_line(2);
  line.replace(line.find("false"), 5, "true, \"rejected\": true");
  write("metrics.jsonl", metrics_line(1) + line);
  const Recorded recorded = read_recorded(folder_, 0, 2);
  EXPECT_FALSE(recorded.steps.at(1).rejected);
  EXPECT_TRUE(recorded.steps.at(2).rejected);
}

TEST_F(RecordedTest, HasDigestsByStepUnitAndState) {
  write("digests.jsonl",
        text("{\"step\": 0, \"digests\": \"", state::kDigestForm, "\"}\n",
             "{\"step\": 4, \"unit\": \"h.0\", \"weights\": \"00000000000000ff\", ",
             "\"momentum\": \"ffffffffffffffff\"}\n",
             "{\"step\": 8, \"unit\": \"h.0\", \"weights\": \"0000000000000001\"}\n"));
  const Recorded recorded = read_recorded(folder_, 0, 4);
  ASSERT_THAT(recorded.digests, ElementsAre(Key(4)));
  EXPECT_THAT(recorded.digests.at(4), ElementsAre(RecordedDigest{"h.0", "weights", 255},
                                                  RecordedDigest{"h.0", "momentum", UINT64_MAX}));
}

TEST_F(RecordedTest, RefusesLinesThatNoRunWrites) {
  write("metrics.jsonl", metrics_line(1) + "{\"step\": 2, \"loss\": 1}\n");
  EXPECT_THAT(refusal(), HasSubstr("metrics.jsonl:2: no run writes such a line"));
  write("metrics.jsonl", metrics_line(1) + "half\n");
  EXPECT_THAT(refusal(), HasSubstr("metrics.jsonl:2: "));
  write("metrics.jsonl", metrics_line(1));
  write("digests.jsonl", "{\"step\": 0, \"digests\": \"of another form\"}\n");
  EXPECT_THAT(refusal(), HasSubstr("are of another form than this program's"));
  write("digests.jsonl", "{\"step\": 4, \"unit\": \"h.0\", \"weights\": \"12\"}\n");
  EXPECT_THAT(refusal(), HasSubstr("digests.jsonl:1: "));
}

TEST_F(RecordedTest, KnowsTheLaunchThatTookAStep) {
  write("launches.jsonl",
        "{\"ranks\": 2}\n{\"ranks\": 4, \"resumed_from_step\": 10}\n"
        "{\"ranks\": 8, \"resumed_from_step\": 10}\n{\"ranks\": 1, \"resumed_from_step\": 30}\n");
  EXPECT_EQ(launch_of(folder_, 10).ranks, 2);
  EXPECT_EQ(launch_of(folder_, 11).ranks, 8) << "the later launch took it again";
  EXPECT_FALSE(launch_of(folder_, 30).is_last);
  EXPECT_EQ(launch_of(folder_, 10).end, 10) << "the first launch that took later steps again";
  EXPECT_EQ(launch_of(folder_, 30).begin, 10);
  EXPECT_EQ(launch_of(folder_, 30).end, 30);
  EXPECT_EQ(launch_of(folder_, 31).end, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(launch_of(folder_, 31).ranks, 1);
  EXPECT_TRUE(launch_of(folder_, 31).is_last);
  write("launches.jsonl", "");
  EXPECT_THAT(testing_support::refusal_of(Exit::kInput, [&] { launch_of(folder_, 1); }),
              HasSubstr("no launch took step 1"));
}

TEST(UlpsBetween, CountsNumbersBetween) {
  EXPECT_EQ(ulps_between(1.0, 1.0), 0u);
  EXPECT_EQ(ulps_between(1.0, std::nextafter(1.0, 2.0)), 1u);
  EXPECT_EQ(ulps_between(-1.0f, std::nextafter(-1.0f, 0.0f)), 1u);
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(ulps_between(-least, least), 2u);
  EXPECT_EQ(ulps_between(2.0f, 4.0f), uint64_t(1) << 23);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(ulps_between(nan, nan), 0u);
  EXPECT_EQ(ulps_between(nan, 1.0), UINT64_MAX);
}

}  // namespace
}  // namespace zero::replay
