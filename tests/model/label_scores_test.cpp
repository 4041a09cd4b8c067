// Ranks: 1
#include "zero/model/label_scores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/tree_folder.hpp"
#include "zero/base/error.hpp"

namespace zero::model {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A set that owns its numbers.
class Samples {
 public:
  Samples(int64_t labels, std::vector<float> scores, std::vector<double> truths)
      : labels_(labels),
        scores_(std::move(scores)),
        truths_(std::move(truths)),
        room_(size_t(room_numel(int64_t(truths_.size()), labels))) {}

  LabelScores view() {
    return {.labels = labels_, .scores = scores_, .truths = truths_, .room = room_};
  }

 private:
  int64_t labels_;
  std::vector<float> scores_;
  std::vector<double> truths_, room_;
};

/// The scores of two classes that choose these, beside the labels.
Samples of_two(const std::vector<int>& chosen, std::vector<double> truths) {
  std::vector<float> scores;
  for (const int one : chosen) scores.insert(scores.end(), {0.5f, float(one)});
  return {2, scores, std::move(truths)};
}

/// The generator and the sets of tools/golden/label_scores_golden.py.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  int64_t below(int64_t end) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return int64_t(state_ >> 33) % end;
  }

 private:
  uint64_t state_;
};

Samples random_set(Draws draws) {
  const int64_t labels = 1 + draws.below(5), samples = 1 + draws.below(60);
  const int64_t steps = 1 + draws.below(30);
  const int64_t kinds = 1 + draws.below(labels == 1 ? 9 : labels);
  const bool follows = draws.below(3) == 0;
  std::vector<float> scores;
  std::vector<double> truths;
  for (int64_t sample = 0; sample < samples; ++sample) {
    const size_t first = scores.size();
    for (int64_t i = 0; i < labels; ++i)
      scores.push_back(float(draws.below(steps) - steps / 2) / 8);
    double truth = double(draws.below(kinds));
    if (follows) {
      truth = labels == 1 ? scores[first] * 3 + truth / 4
                          : double(chosen_class(std::span(scores).subspan(first)));
    }
    truths.push_back(truth);
  }
  return {labels, scores, truths};
}

std::vector<double> metrics_of(const LabelScores& of) {
  if (of.labels == 1) return {pearson(of), spearman(of)};
  return {accuracy(of), f1(of), matthews(of)};
}

TEST(LabelScores, AreEqualToScikitLearnsAndScipysOnRandomSets) {
  std::ifstream file(testing_support::tree_folder() / "tests/golden/label_scores.json");
  const nlohmann::json rows = nlohmann::json::parse(file);
  ASSERT_EQ(rows.size(), 200u);
  for (size_t seed = 0; seed < rows.size(); ++seed) {
    const nlohmann::json& row = rows[seed];
    Samples samples = random_set(Draws(seed));
    const LabelScores view = samples.view();
    ASSERT_EQ(view.samples(), row[0].get<int64_t>());
    ASSERT_EQ(view.labels, row[1].get<int64_t>());
    const std::vector<double> found = metrics_of(view);
    ASSERT_EQ(found.size() + 2, row.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const nlohmann::json& wanted = row[i + 2];
      EXPECT_EQ(std::isnan(found[i]), wanted.is_null()) << seed;
      EXPECT_TRUE(wanted.is_null() || std::abs(found[i] - wanted.get<double>()) <= 1e-12) << seed;
    }
  }
}

TEST(LabelScores, OfTwoClassesCountTheSecond) {
  // 3 hits of class 1, 1 false alarm, 2 misses; 4 hits of class 0.
  Samples samples = of_two({1, 1, 1, 1, 0, 0, 0, 0, 0, 0}, {1, 1, 1, 0, 1, 1, 0, 0, 0, 0});
  const LabelScores view = samples.view();
  EXPECT_DOUBLE_EQ(accuracy(view), 0.7);
  EXPECT_DOUBLE_EQ(f1(view), 6.0 / 9);
  EXPECT_DOUBLE_EQ(matthews(view), (3.0 * 4 - 1.0 * 2) / std::sqrt(4.0 * 5 * 5 * 6));
}

TEST(LabelScores, OfMoreClassesAverageOverThoseThatOccur) {
  // Choices 0 0 1 1; labels 0 1 1 1: F1 of 2/3 and 4/5; class 2 is nowhere.
  Samples samples(3, {1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0}, {0, 1, 1, 1});
  EXPECT_DOUBLE_EQ(f1(samples.view()), (2.0 / 3 + 4.0 / 5) / 2);
}

TEST(LabelScores, OfNothingByNothingAreZeroForClasses) {
  Samples samples = of_two({0, 0}, {0, 0});
  EXPECT_EQ(accuracy(samples.view()), 1);
  EXPECT_EQ(f1(samples.view()), 0);
  EXPECT_EQ(matthews(samples.view()), 0);
}

TEST(LabelScores, ChooseTheFirstOfEqualScores) {
  EXPECT_EQ(chosen_class(std::array{1.0f, 3.0f, 3.0f}), 1);
  EXPECT_EQ(chosen_class(std::array{1.0f, float(kNan)}), -1);
}

TEST(LabelScores, OfNumbersAreCorrelations) {
  Samples samples(1, {1, 2, 3, 4}, {1, 10, 100, 1000});
  EXPECT_DOUBLE_EQ(spearman(samples.view()), 1);
  EXPECT_LT(pearson(samples.view()), 0.9);
  // Ranks 1, 2.5, 2.5 and 4 beside 1 to 4: 4.5 / sqrt(4.5 * 5).
  Samples tied(1, {1, 2, 2, 9}, {1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(spearman(tied.view()), std::sqrt(0.9));
}

TEST(LabelScores, OfNumbersLoseNothingBesideALargeMean) {
  Samples samples(1, {16777215, 16777214, 16777216}, {1e15 + 1, 1e15, 1e15 + 2});
  EXPECT_DOUBLE_EQ(pearson(samples.view()), 1);
  Samples huge(1, {1, 2, 4}, {1e300, 2e300, 4e300});
  EXPECT_DOUBLE_EQ(pearson(huge.view()), 1) << "whose squares are infinite";
}

TEST(LabelScores, OfConstantNumbersAreUndefined) {
  Samples scores(1, {2, 2, 2}, {1, 2, 3}), truths(1, {1, 2, 3}, {0.1, 0.1, 0.1});
  for (Samples* one : {&scores, &truths}) {
    EXPECT_TRUE(std::isnan(pearson(one->view())));
    EXPECT_TRUE(std::isnan(spearman(one->view())));
  }
}

TEST(LabelScores, LeaveOutSamplesWithoutALabel) {
  Samples classes = of_two({1, 0, 1}, {1, kNan, 0});
  EXPECT_EQ(accuracy(classes.view()), 0.5);
  Samples numbers(1, {1, float(kNan), 2, 3}, {10, kNan, 20, 30});
  EXPECT_DOUBLE_EQ(pearson(numbers.view()), 1);
  EXPECT_DOUBLE_EQ(spearman(numbers.view()), 1);
  Samples none = of_two({1, 0}, {kNan, kNan});
  for (const double metric : metrics_of(none.view())) EXPECT_TRUE(std::isnan(metric));
}

TEST(LabelScores, ThatAreNoNumbersGiveNone) {
  Samples classes(2, {1, 0, 0, float(kNan), 0, 1}, {0, 1, 1});
  for (const double metric : metrics_of(classes.view())) EXPECT_TRUE(std::isnan(metric));
  Samples numbers(1, {1, float(kNan), 3}, {1, 2, 3});
  for (const double metric : metrics_of(numbers.view())) EXPECT_TRUE(std::isnan(metric));
}

TEST(LabelScores, RefuseALabelBeyondTheClasses) {
  Samples samples = of_two({1, 0}, {0, 2});
  EXPECT_THROW(accuracy(samples.view()), Error);
}

}  // namespace
}  // namespace zero::model
