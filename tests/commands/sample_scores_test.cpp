// Ranks: 1
#include "src/commands/sample_scores.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace zero::commands {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string written(const model::LabelScores& scores, const std::vector<std::string>& classes) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("scores-" + std::to_string(getpid()) + ".tsv");
  {
    OutputFile file(path.string());
    write_scores(file, scores, classes);
    file.publish();
  }
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  return content.str();
}

TEST(SampleScores, NameTheClassAndTheLabelBeforeTheScores) {
  const std::vector<float> scores = {0.1f, 0.25f, 3, -1, 2, 2};
  const std::vector<double> truths = {0, kNone, 1};
  const model::LabelScores view{.labels = 2, .scores = scores, .truths = truths};
  EXPECT_EQ(written(view, {"no", "y\tes"}),
            "predicted\tlabel\tscore of no\tscore of y es\n"
            "y es\tno\t0.1\t0.25\n"
            "no\t\t3\t-1\n"
            "no\ty es\t2\t2\n");
  EXPECT_EQ(written(view, {}),
            "predicted\tlabel\tscore of 0\tscore of 1\n"
            "1\t0\t0.1\t0.25\n"
            "0\t\t3\t-1\n"
            "0\t1\t2\t2\n");
}

TEST(SampleScores, OfNumbersStandBesideTheirLabels) {
  const std::vector<float> scores = {0.1f, 4.5f};
  const std::vector<double> truths = {3.2, kNone};
  EXPECT_EQ(written({.labels = 1, .scores = scores, .truths = truths}, {}),
            "predicted\tlabel\n0.1\t3.2\n4.5\t\n");
}

TEST(SampleScores, AreWrittenInPiecesOfALargeSet) {
  const std::vector<float> scores(40000, 1.5f);
  const std::vector<double> truths(20000, 1);
  std::istringstream lines(written({.labels = 2, .scores = scores, .truths = truths}, {}));
  std::string line;
  std::getline(lines, line);
  int64_t count = 0;
  for (; std::getline(lines, line); ++count) ASSERT_EQ(line, "0\t1\t1.5\t1.5");
  EXPECT_EQ(count, 20000);
}

}  // namespace
}  // namespace zero::commands
