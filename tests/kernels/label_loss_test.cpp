// Ranks: 1

#include "zero/kernels/label_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "tests/support/arrays.hpp"
#include "tests/support/device_array.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

using testing::DeviceArray;
using testing::doubles;

template <class T>
struct Result {
  std::vector<T> dlogits;
  std::vector<float> scores;
  StepSums sums;
};

/// The loss and what it writes, with a gradient scale of 64 / 4.
template <class T, class Label>
Result<T> run_labels(const LabelExtents& extents, const std::vector<T>& logits,
                     const std::vector<Label>& labels, int threads = 1, bool gradient = true) {
  Stream stream(threads);
  adopt_threads(stream);
  StepInputs inputs{};
  inputs.counted_tokens = 4;
  StepState state{};
  state.loss_scale = 64.0f;
  const DeviceArray<StepInputs> inputs_there({inputs});
  const DeviceArray<StepState> state_there({state});
  const DeviceArray<StepSums> sums({StepSums{}});
  const DeviceArray<T> logits_there(logits);
  const DeviceArray<Label> labels_there(labels);
  const auto dlogits = DeviceArray<T>::of_outputs(int64_t(logits.size()));
  const auto scores = DeviceArray<float>::of_outputs(int64_t(logits.size()));
  const LabelArrays<T, Label> arrays{logits_there.data(), labels_there.data(),
                                     gradient ? scores.data() : nullptr,
                                     gradient ? dlogits.data() : nullptr};
  if constexpr (std::is_same_v<Label, float>)
    squared_loss<T>(stream, extents, inputs_there.data(), state_there.data(), arrays, sums.data());
  else
    class_loss<T>(stream, extents, inputs_there.data(), state_there.data(), arrays, sums.data());
  stream.wait();
  return {dlogits.values(), scores.values(), sums.values()[0]};
}

template <class T>
class LabelLoss : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(LabelLoss, Elements);

TYPED_TEST(LabelLoss, AgreesWithDoubleLoopsForAnyNumberOfClasses) {
  for (int64_t classes : {1, 2, 3, 31, 33, 300}) {
    const LabelExtents extents{.samples = 17, .classes = classes};
    const auto logits = testing::noise<TypeParam>(17 * classes, 5, 6.0);
    std::vector<int32_t> labels;
    for (int64_t r = 0; r < 17; ++r) labels.push_back(r % 4 == 3 ? -1 : int32_t(7 * r % classes));
    double loss = 0;
    std::vector<double> expected(logits.size());
    for (size_t r = 0; r < 17; ++r) {
      if (labels[r] < 0) continue;
      double sum = 0;
      const auto at = [&](int64_t j) {
        return double(float(logits[r * size_t(classes) + size_t(j)]));
      };
      for (int64_t j = 0; j < classes; ++j) sum += std::exp(at(j));
      loss += std::log(sum) - at(labels[r]);
      for (int64_t j = 0; j < classes; ++j)
        expected[r * size_t(classes) + size_t(j)] =
            16.0 * (std::exp(at(j)) / sum - (j == labels[r] ? 1.0 : 0.0));
    }
    const Result<TypeParam> got = run_labels<TypeParam, int32_t>(extents, logits, labels, 2);
    EXPECT_NEAR(got.sums.loss.value(), loss, 1e-6 * loss + 1e-12);
    EXPECT_EQ(got.sums.nonfinite_loss, 0);
    EXPECT_LT(testing::relative_error(got.dlogits, expected),
              testing::rounding<TypeParam>() + 1e-6);
    EXPECT_EQ(doubles(got.scores), doubles(logits));
  }
}

TYPED_TEST(LabelLoss, OfEqualLogitsHasTheLossOfADie) {
  const Result<TypeParam> got = run_labels<TypeParam, int32_t>(
      {.samples = 1, .classes = 4}, std::vector(4, TypeParam(2.0f)), {1});
  EXPECT_NEAR(got.sums.loss.value(), std::log(4.0), 1e-7);
  EXPECT_EQ(doubles(got.dlogits), (std::vector<double>{4, -12, 4, 4}));
}

TYPED_TEST(LabelLoss, OfNumbersIsTheSquareOfTheDifference) {
  const std::vector<TypeParam> logits{TypeParam(1.0f), TypeParam(-2.0f), TypeParam(9.0f)};
  const Result<TypeParam> got =
      run_labels<TypeParam, float>({.samples = 3, .classes = 1}, logits, {3.0f, -1.5f, NAN});
  EXPECT_EQ(got.sums.loss.value(), 4.25);
  EXPECT_EQ(got.sums.nonfinite_loss, 0);
  EXPECT_EQ(doubles(got.dlogits), (std::vector<double>{-64, -16, 0}));
  EXPECT_EQ(got.scores, (std::vector<float>{1, -2, 9}));
}

TYPED_TEST(LabelLoss, WithoutAGradientWritesNothingElse) {
  const auto logits = testing::noise<TypeParam>(6, 5);
  const Result<TypeParam> got =
      run_labels<TypeParam, int32_t>({.samples = 2, .classes = 3}, logits, {0, 2}, 1, false);
  EXPECT_GT(got.sums.loss.value(), 0);
  EXPECT_TRUE(testing::same_bits(got.dlogits, testing::poisoned<TypeParam>(6)));
  EXPECT_TRUE(testing::same_bits(got.scores, testing::poisoned<float>(6)));
}

TYPED_TEST(LabelLoss, CountsLossesThatAreNotFiniteAndLeavesUncountedSamplesOut) {
  const TypeParam nan(std::numeric_limits<float>::quiet_NaN()), one(1.0f);
  const Result<TypeParam> got = run_labels<TypeParam, int32_t>(
      {.samples = 4, .classes = 2}, {nan, one, nan, nan, one, one, one, one}, {0, -1, 1, 2});
  EXPECT_EQ(got.sums.nonfinite_loss, 2) << "NaN, and a class that there is not";
  EXPECT_NEAR(got.sums.loss.value(), std::log(2.0), 1e-7);
  EXPECT_EQ(float(got.dlogits[2]), 0.0f);
  EXPECT_EQ(float(got.dlogits[3]), 0.0f);
}

TEST(LabelLossRefusal, NamesExtentsOutOfRange) {
  EXPECT_THROW((run_labels<float, int32_t>({.samples = 0, .classes = 2}, {}, {})), Error);
  EXPECT_THROW((run_labels<float, float>({.samples = 1, .classes = 2}, {1, 2}, {1})), Error);
}

}  // namespace
}  // namespace zero::kernels
