// Ranks: 1
#include "tests/support/golden.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero::testing {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

std::vector<int32_t> sample(const std::vector<int32_t>& values, int64_t index, int64_t length) {
  return {values.begin() + index * length, values.begin() + (index + 1) * length};
}

// The numbers below were printed by the script's own functions.

TEST(Golden, HashAgreesWithTheScript) {
  EXPECT_EQ(golden_hash(0, 0), 3170179127u);
  EXPECT_EQ(golden_hash(3, 7), 2894250245u);
}

TEST(Golden, WeightsAgreeWithTheScriptToTheBit) {
  const Golden golden = load_golden("gpt2_a");
  const std::vector<float> table = golden_weights(golden, 0);
  EXPECT_EQ(double(table[0]), 0.09524593502283096);
  EXPECT_EQ(double(table[1]), -0.05600593984127045);
  ASSERT_EQ(golden.tensors[16].name, "h.1.ln_2.weight");
  EXPECT_EQ(double(golden_weights(golden, 16)[0]), 1.1746361255645752);
}

TEST(Golden, TokensAndTargetsAgreeWithTheScript) {
  const GoldenBatch a = golden_batch(load_golden("gpt2_a"), 0);
  EXPECT_THAT(sample(a.targets, 1, 16),
              ElementsAre(40, 2, -1, 36, 15, 0, -1, 0, 4, 23, 0, 36, -1, -1, 22, 4));
  const GoldenBatch b = golden_batch(load_golden("gpt2_b"), 7);
  EXPECT_THAT(sample(b.tokens, 2, 12), ElementsAre(24, 59, 6, 21, 15, 108, 23, 40, 2, 52, 122, 72));
  EXPECT_THAT(sample(b.targets, 2, 12),
              ElementsAre(59, -1, 21, 15, 108, -1, 40, 2, 52, 122, 72, 27));
}

TEST(Golden, ATargetIsTheNextTokenOfItsSample) {
  const Golden golden = load_golden("gpt2_b");
  const GoldenBatch batch = golden_batch(golden, 3);
  for (size_t i = 0; i + 1 < size_t(golden.length); ++i) {
    if (batch.targets[i] < 0) continue;
    EXPECT_EQ(batch.targets[i], batch.tokens[i + 1]);
  }
  EXPECT_EQ(batch.counted, std::count_if(batch.targets.begin(), batch.targets.end(),
                                         [](int32_t target) { return target >= 0; }));
}

TEST(Golden, FilesHoldLossGradientsAndCurve) {
  const Golden a = load_golden("gpt2_a");
  EXPECT_THAT(a.loss, DoubleEq(4.230011253349295));
  EXPECT_EQ(a.counted_tokens, golden_batch(a, 0).counted);
  EXPECT_EQ(a.tensors.size(), 2u + 2 * 12 + 2);
  EXPECT_THAT(a.tensors[0].gradient[0], DoubleEq(-0.012531430014314957));
  EXPECT_EQ(a.tensors.back().name, "ln_f.bias");
  EXPECT_THAT(a.tensors.back().gradient[23], DoubleEq(-0.043152057545480765));
  ASSERT_TRUE(a.curve.has_value());
  EXPECT_EQ(a.curve->loss.size(), 20u);
  EXPECT_EQ(golden_stream(*a.curve, 2, 3), 12u);
  EXPECT_FALSE(load_golden("gpt2_b").curve.has_value());
}

TEST(Golden, ATrainingByLambHoldsEveryTensorOfItsModel) {
  const GoldenLamb lamb = load_golden_lamb("lamb_t5_c");
  const GoldenPairs pairs = load_golden_pairs(lamb.pairs);
  EXPECT_EQ(lamb.steps, 20);
  EXPECT_EQ(lamb.optimizer.lr, 0.01);
  EXPECT_EQ(lamb.weights.size(), pairs.tensors.size());
  for (const GoldenTensor& tensor : pairs.tensors)
    EXPECT_EQ(int64_t(lamb.weights.at(tensor.name).size()), tensor.numel()) << tensor.name;
  EXPECT_EQ(lamb.weights.at("shared.weight")[0], 0.578894496f);
}

TEST(Golden, AnAbsentFileIsAnErrorThatNamesIt) {
  try {
    load_golden("gpt2_z");
    FAIL() << "loaded a file that does not exist";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("gpt2_z.json"));
  }
}

TEST(Golden, RelativeErrorIsTakenInTheEuclideanNorm) {
  const std::vector<double> expected = {3, 4}, got = {3, 4.5}, zero = {0, 0}, small = {0, 1e-9};
  EXPECT_DOUBLE_EQ(relative_l2(got, expected, 1e-6), 0.1);
  EXPECT_DOUBLE_EQ(relative_l2(small, zero, 1e-6), 1e-3);
  EXPECT_THROW(relative_l2(got, std::vector<double>{1}, 1e-6), Error);
}

}  // namespace
}  // namespace zero::testing
