// Ranks: 1
#include "kernels/support/lion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/optimizer_state.hpp"

namespace zero::kernels {
namespace {

using testing::decision, testing::kDecay, testing::OptimizerState;

constexpr OptimizerRule kLion{.settings = {.type = OptimizerType::Lion, .betas = {0.9, 0.99}}};
constexpr int64_t kNumel = 3 * 2048 + 777;

template <class P>
class LionOf : public ::testing::Test {};
TYPED_TEST_SUITE(LionOf, testing::OptimizerTypes);

/// Chen et al. 2023, algorithm 2, on one element.
struct Reference {
  double master = 0, m = 0;
  bool is_sure = true;  ///< no direction was so near zero that fp32 may go the other way

  void update(double g) {
    const double direction = 0.9 * m + 0.1 * g;
    is_sure = is_sure && std::fabs(direction) > 1e-7;
    const double sign = direction > 0 ? 1 : direction < 0 ? -1 : 0;
    master -= 0.01 * (sign + double(kDecay) * master);
    m = 0.99 * m + 0.01 * g;
  }
};

TYPED_TEST(LionOf, FollowsThePaperInDoubleOverTwentySteps) {
  using T = typename TypeParam::T;
  OptimizerState<T, typename TypeParam::G> state(kNumel);
  std::vector<Reference> references(kNumel);
  for (size_t i = 0; i < kNumel; ++i) references[i].master = state.master(i);
  Stream stream(1);
  for (int update = 1; update <= 20; ++update) {
    state.new_gradient(uint64_t(100 + update));
    testing::update_all(stream, kLion, decision(update, 0.01f, 0.5f), state);
    for (size_t i = 0; i < kNumel; ++i) {
      references[i].update(0.5 * double(float(T(float(state.grad[i])))));
    }
  }
  for (size_t i = 0; i < kNumel; ++i) {
    ASSERT_NEAR(state.momentum[i], references[i].m, 1e-8) << i;
    if (references[i].is_sure) {
      ASSERT_NEAR(state.master(i), references[i].master, 2e-6) << i;
    }
  }
  const auto sure = std::ranges::count_if(references, &Reference::is_sure);
  EXPECT_GT(sure, kNumel * 9 / 10);
}

TYPED_TEST(LionOf, ComesToTheSameBitsEverywhere) {
  testing::expect_one_update_everywhere<typename TypeParam::T, typename TypeParam::G>(
      kLion, [](int update) { return decision(update, 0.01f, 0.37f); });
}

// lr 0.5 and decay 0.1: a master of 2 becomes 2 * 0.95 - 0.5 sign(g).
TEST(Lion, MovesByTheLearningRateAndNotAtAllWithoutADirection) {
  OptimizerState<float> state(3);
  state.grad = {8.0f, -0.25f, 0.0f};
  for (size_t i = 0; i < 3; ++i) state.set_master(i, 2.0f);
  Stream stream(1);
  testing::update_all(stream, kLion, decision(1, 0.5f), state);
  EXPECT_FLOAT_EQ(state.weight[0], 1.4f);
  EXPECT_FLOAT_EQ(state.weight[1], 2.4f);
  EXPECT_FLOAT_EQ(state.weight[2], 1.9f);
  EXPECT_FLOAT_EQ(state.momentum[0], 0.08f);
}

TEST(Lion, AStepThatIsSkippedWritesNothing) {
  OptimizerState<bf16> state(100);
  const OptimizerState<bf16> before = state;
  state.new_gradient(1);
  StepState skipped = decision(1, 0.5f);
  skipped.apply = 0;
  Stream stream(1);
  testing::update_all(stream, kLion, skipped, state);
  EXPECT_TRUE(state.same_bits_as(before));
}

}  // namespace
}  // namespace zero::kernels
