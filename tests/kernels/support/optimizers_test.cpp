// Ranks: 1

#include "kernels/support/optimizers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/optimizer_state.hpp"

namespace zero::kernels {
namespace {

using testing::decision;
using testing::kDecay;
using testing::OptimizerState;

constexpr OptimizerRule kLion{.settings = {.type = OptimizerType::Lion, .betas = {0.9, 0.99}}};
constexpr int64_t kNumel = 3 * 2048 + 777;

template <class P>
class LionOf : public ::testing::Test {};
TYPED_TEST_SUITE(LionOf, testing::OptimizerTypes);

/// Chen et al. 2023, algorithm 2, on one element.
struct LionReference {
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
  std::vector<LionReference> references(kNumel);
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
  const auto sure = std::ranges::count_if(references, &LionReference::is_sure);
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

constexpr OptimizerConfig kForms[] = {
    {.type = OptimizerType::SGD},
    {.type = OptimizerType::SGD, .momentum = 0.9},
    {.type = OptimizerType::SGD, .momentum = 0.9, .dampening = 0.3},
    {.type = OptimizerType::SGD, .momentum = 0.9, .nesterov = true},
};

/// torch.optim.SGD on one element.
struct SgdReference {
  OptimizerConfig form;
  double master = 0, buffer = 0;
  bool is_first = true;

  void update(double gradient) {
    double g = gradient + double(kDecay) * master;
    if (form.momentum > 0) {
      buffer = is_first ? g : form.momentum * buffer + (1 - form.dampening) * g;
      g = form.nesterov ? g + form.momentum * buffer : buffer;
    }
    is_first = false;
    master -= 0.01 * g;
  }
};

template <class P>
class SgdOf : public ::testing::Test {};
TYPED_TEST_SUITE(SgdOf, testing::OptimizerTypes);

TYPED_TEST(SgdOf, FollowsPytorchInDoubleOverTwentySteps) {
  using T = typename TypeParam::T;
  for (const OptimizerConfig& form : kForms) {
    OptimizerState<T, typename TypeParam::G> state(kNumel);
    std::vector<SgdReference> references(kNumel, SgdReference{.form = form});
    for (size_t i = 0; i < kNumel; ++i) references[i].master = state.master(i);
    Stream stream(1);
    for (int update = 1; update <= 20; ++update) {
      state.new_gradient(uint64_t(100 + update));
      testing::update_all(stream, {.settings = form}, decision(update, 0.01f, 0.5f), state);
      for (size_t i = 0; i < kNumel; ++i) {
        references[i].update(0.5 * double(float(T(float(state.grad[i])))));
      }
    }
    for (size_t i = 0; i < kNumel; ++i) {
      ASSERT_NEAR(state.master(i), references[i].master, 2e-6) << form.momentum << " " << i;
      ASSERT_NEAR(state.momentum[i], references[i].buffer, 2e-6) << form.momentum << " " << i;
    }
  }
}

TYPED_TEST(SgdOf, ComesToTheSameBitsEverywhere) {
  for (const OptimizerConfig& form : kForms) {
    testing::expect_one_update_everywhere<typename TypeParam::T, typename TypeParam::G>(
        {.settings = form}, [](int update) { return decision(update, 0.01f, 0.37f); });
  }
}

/// What a weight of 1 becomes by a gradient of 1 and then one of 2, at a rate of 1 without decay,
/// where the old buffer holds a number that nobody may read.
float after_two(const OptimizerConfig& form) {
  OptimizerState<float> state(1);
  state.weight[0] = 1.0f;
  state.momentum[0] = 1e6f;
  const std::vector<OptimizerSegment> segments{{0, 1, 0.0f}};
  Stream stream(1);
  for (int update = 1; update <= 2; ++update) {
    state.grad[0] = float(update);
    const StepState step = decision(update, 1.0f);
    kernels::update(stream, {.settings = form}, segments, &step, state.from(0));
    stream.wait();
  }
  return state.weight[0];
}

TEST(Sgd, TheFirstBufferIsTheGradient) {
  EXPECT_FLOAT_EQ(after_two(kForms[0]), 1 - 1 - 2);
  OptimizerConfig half{.type = OptimizerType::SGD, .momentum = 0.5};
  EXPECT_FLOAT_EQ(after_two(half), 1 - 1 - (0.5f * 1 + 2));
  half.dampening = 0.25;
  EXPECT_FLOAT_EQ(after_two(half), 1 - 1 - (0.5f * 1 + 0.75f * 2));
  half = {.type = OptimizerType::SGD, .momentum = 0.5, .nesterov = true};
  EXPECT_FLOAT_EQ(after_two(half), 1 - (1 + 0.5f) - (2 + 0.5f * 2.5f));
}

}  // namespace

}  // namespace zero::kernels
