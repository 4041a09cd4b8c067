// Ranks: 1
#include "zero/stored/tensor_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/models.hpp"
#include "tests/support/small_model.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {
namespace {

using checkpoint::Tensor;
using ::testing::ElementsAre;

/// One tensor in memory.
class OneTensor : public TensorSource {
 public:
  explicit OneTensor(std::vector<float> values, int64_t columns = 1)
      : values_(std::move(values)),
        tensors_{{"a", Dtype::f32, {int64_t(values_.size()) / columns, columns}}} {}
  const std::string& path() const override { return tensors_[0].name; }
  const std::vector<Tensor>& tensors() const override { return tensors_; }
  std::map<std::string, std::string> facts() const override { return {}; }
  void read(const Tensor&, int64_t begin, std::span<float> out) const override {
    std::copy_n(values_.begin() + begin, out.size(), out.begin());
  }
  TensorStatistics statistics() const { return statistics_of(*this, tensors_[0]); }
  TensorDifference minus(const OneTensor& other) const {
    return difference_of(*this, other, tensors_[0], other.tensors_[0]);
  }

 private:
  std::vector<float> values_;
  std::vector<Tensor> tensors_;
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Statistics, AreThoseOfTheFiniteValues) {
  const TensorStatistics found = OneTensor({1, 3, NAN, 5, kInfinity, -1}).statistics();
  EXPECT_EQ(found.least, -1);
  EXPECT_EQ(found.largest, 5);
  EXPECT_EQ(found.mean, 2);
  EXPECT_DOUBLE_EQ(found.deviation, std::sqrt(5.0)) << "of 1, 3, 5, -1: squares 1, 1, 9, 9";
  EXPECT_EQ(found.non_finite, 2);
  const TensorStatistics none = OneTensor({NAN, NAN}).statistics();
  EXPECT_EQ(none.non_finite, 2);
  EXPECT_EQ(none.least, 0);
}

TEST(Statistics, DoNotDependOnThePiecesThatATensorIsReadIn) {
  // Three pieces with means of their own; far from 0, where a sum of squares would be ruined.
  std::vector<float> values(2'500'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i < values.size() / 2 ? 10000 : 10001;
  const TensorStatistics found = OneTensor(values).statistics();
  EXPECT_DOUBLE_EQ(found.mean, 10000.5);
  EXPECT_NEAR(found.deviation, 0.5, 1e-12);
}

TEST(Differences, AreCountedAndTheFirstIsPlaced) {
  const OneTensor one({1, 2, 3, 4, 5, 6}, 3), other({1, 2, 3, 4, 5.5, 4}, 3);
  const TensorDifference found = one.minus(other);
  EXPECT_EQ(found.differing, 2);
  EXPECT_THAT(found.first, ElementsAre(1, 1));
  EXPECT_EQ(found.one, 5);
  EXPECT_EQ(found.other, 5.5f);
  EXPECT_EQ(found.largest, 2);
  EXPECT_EQ(one.minus(one).differing, 0);
}

TEST(Differences, AreOfBits) {
  const OneTensor one({0.0f, NAN, 1}), other({-0.0f, NAN, kInfinity});
  const TensorDifference found = one.minus(other);
  EXPECT_EQ(found.differing, 2) << "the same NaN is equal, another zero is not";
  EXPECT_EQ(found.largest, std::numeric_limits<double>::infinity());
}

TEST(TensorSources, OfAModelAndItsCheckpointHaveTheSameNames) {
  const TempFolder place("tensor-source");
  const std::string model = place.path() + "/model", root = place.path() + "/root";
  write_small_model(small_options(model, Dtype::bf16));
  import_model(ModelFolder(testing_support::catalogue(), model), root, "a test");
  const auto one = open_tensors(testing_support::catalogue(), model),
             other = open_tensors(testing_support::catalogue(), root);
  EXPECT_EQ(one->tensors(), other->tensors());
  EXPECT_EQ(one->facts()["architecture"], other->facts()["architecture"]);
  EXPECT_EQ(other->facts()["step"], "0");
  for (size_t i = 0; i < one->tensors().size(); ++i) {
    const Tensor& tensor = one->tensors()[i];
    EXPECT_EQ(difference_of(*one, *other, tensor, other->tensors()[i]).differing, 0);
  }
}

}  // namespace
}  // namespace zero::stored
