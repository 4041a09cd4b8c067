// Ranks: 1
#include "zero/monitor/digest_log.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "zero/base/text.hpp"

namespace zero::monitor {
namespace {

constexpr OptimizerState kStates[] = {{.name = "momentum"}};

class DigestLogTest : public ::testing::Test {
 protected:
  DigestLogTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    plan_.units.resize(2);
    plan_.units[0].name = "embedding";
    plan_.units[1].name = "h.0";
    plan_.request.optimizer.states = kStates;
  }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/digests.jsonl").rdbuf();
    return text.str();
  }
  void add(int64_t step, int64_t done) {
    DigestLog(folder_, done).add(step, plan_, state::UnitDigests(plan_, 1));
  }

  const std::string folder_ = ::testing::TempDir() + "zeroapp-digest-log";
  plan::Plan plan_;
};

std::string lines_of(int64_t step) {
  std::string lines;
  for (const char* unit : {"embedding", "h.0"}) {
    lines += text("{\"step\": ", step, ", \"unit\": \"", unit,
                  "\", \"weights\": \"0000000000000000\", \"momentum\": \"0000000000000000\"}\n");
  }
  return lines;
}

TEST_F(DigestLogTest, BeginsWithTheFormAndKeepsTheStepsOfEarlierLaunches) {
  add(4, 0);
  const std::string head = text("{\"step\": 0, \"digests\": \"", state::kDigestForm, "\"}\n");
  EXPECT_EQ(content(), head + lines_of(4));
  std::ofstream(folder_ + "/digests.jsonl", std::ios::app) << lines_of(8) << "{\"step\": 12, \"un";
  add(8, 7);
  EXPECT_EQ(content(), head + lines_of(4) + lines_of(8)) << "step 8 is taken again";
}

}  // namespace
}  // namespace zero::monitor
