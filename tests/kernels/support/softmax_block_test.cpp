// Ranks: 1

#include "kernels/support/softmax_block.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tests/support/device_block.hpp"
#include "tests/support/kernel_arrays.hpp"

namespace zero::kernels {
namespace {

constexpr float kInfinity = INFINITY;

/// Rows of logits, of a loss that is scaled by 64 and counts 4 tokens.
template <class T>
struct SoftmaxCase {
  int64_t rows, vocabulary, columns;
  std::vector<float> x;
  std::vector<int32_t> targets;
  std::vector<double> losses;
  StepInputs inputs{};
  StepState state{};

  SoftmaxCase(int64_t r, int64_t classes, int64_t padded)
      : rows(r),
        vocabulary(classes),
        columns(padded),
        x(noise<float>(r * padded, 1, 3.0)),
        losses(size_t(r), -1.0) {
    for (int64_t i = 0; i < rows; ++i) targets.push_back(int32_t(i * 7 % vocabulary));
    inputs.counted_tokens = 4;
    state.loss_scale = 64.0f;
  }

  template <class Loss = PlainLoss>
  void run_block(int64_t r, bool gradient = true, const Loss& loss = {}) {
    const SoftmaxBlock<T, Loss> code{{reinterpret_cast<std::byte*>(x.data()), vocabulary, columns},
                                     {targets.data(), losses.data(), &inputs, &state},
                                     gradient,
                                     loss};
    testing::HostBlock(r, code.kThreads, code.kSharedNumel,
                       [&](const testing::HostBlockThread& block) { code(block); })
        .run();
  }
  void run_blocks(bool gradient = true) {
    for (int64_t r = rows - 1; r >= 0; --r) run_block(r, gradient);
  }
  std::vector<T> row(int64_t r) const {
    std::vector<T> gradient(static_cast<size_t>(columns));
    std::memcpy(gradient.data(), x.data() + r * columns, gradient.size() * sizeof(T));
    return gradient;
  }
};

/// The loss of a row and its gradient, in double, from what the logits were.
struct Reference {
  double loss = 0.0;
  std::vector<double> gradient;

  template <class T>
  Reference(const SoftmaxCase<T>& of, int64_t r) : gradient(size_t(of.columns)) {
    const int32_t target = of.targets[size_t(r)];
    if (target == -1) return;
    const float* const x = of.x.data() + r * of.columns;
    double sum = 0.0;
    for (int64_t j = 0; j < of.vocabulary; ++j) sum += std::exp(double(x[j]));
    for (int64_t j = 0; j < of.vocabulary; ++j)
      gradient[size_t(j)] = 16.0 * (std::exp(double(x[j])) / sum - (j == target ? 1.0 : 0.0));
    loss = std::log(sum) - double(x[target]);
  }
};

template <class T>
class SoftmaxBlocks : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(SoftmaxBlocks, Elements);

TYPED_TEST(SoftmaxBlocks, AgreeWithDoubleLoopsForEveryLengthTheyHold) {
  for (const auto& [classes, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 8}, {64, 64}, {3070, 3072}, {8185, 8192}, {50257, 50304}, {52219, 52224}}) {
    SoftmaxCase<TypeParam> block(4, classes, columns);
    block.targets[1] = int32_t(classes - 1);
    block.targets[2] = -1;
    std::vector<Reference> expected;
    for (int64_t r = 0; r < block.rows; ++r) expected.emplace_back(block, r);
    block.run_blocks();
    for (int64_t r = 0; r < block.rows; ++r) {
      EXPECT_NEAR(block.losses[size_t(r)], expected[size_t(r)].loss, 1e-5);
      EXPECT_LT(relative_error(block.row(r), expected[size_t(r)].gradient),
                testing::rounding<TypeParam>() + 1e-6)
          << columns << ", row " << r;
      for (int64_t j = classes; j < columns; ++j)
        ASSERT_EQ(float(block.row(r)[size_t(j)]), 0.0f) << "padding " << j;
    }
  }
}

/// A logit that the block read after its first write would be a gradient of its neighbour.
TYPED_TEST(SoftmaxBlocks, WithAScaleABiasAndLabelSmoothingAgreeWithDoubleLoops) {
  const auto bias = noise<TypeParam>(8192, 2, 3.0);
  SoftmaxCase<TypeParam> block(1, 8185, 8192), made = block;
  for (size_t j = 0; j < 8192; ++j) made.x[j] = std::fma(0.5f, made.x[j], float(bias[j]));
  const Reference plain(made, 0);
  double mean = 0;  // of -log p
  for (size_t j = 0; j < 8185; ++j) mean += plain.loss + double(made.x[0] - made.x[j]);
  block.run_block(0, true, LossWithOptions<TypeParam>{0.5f, 0.25f, bias.data()});
  EXPECT_NEAR(block.losses[0], 0.75 * plain.loss + 0.25 * mean / 8185, 1e-5);
  std::vector<double> gradient = plain.gradient;
  for (size_t j = 0; j < 8185; ++j)
    gradient[j] = 0.5 * (gradient[j] + 16 * 0.25 * (double(j == 0) - 1 / 8185.0));
  EXPECT_LT(relative_error(block.row(0), gradient), testing::rounding<TypeParam>() + 1e-6);
}

TYPED_TEST(SoftmaxBlocks, ReadEachLogitBeforeAnyIsOverwritten) {
  SoftmaxCase<TypeParam> block(1, 16384, 16384);
  for (int64_t j = 0; j < block.columns; ++j) block.x[size_t(j)] = j % 2 == 0 ? 1.0f : -kInfinity;
  block.targets[0] = 0;
  block.run_blocks();
  const auto gradient = block.row(0);
  for (int64_t j = 1; j < block.columns; ++j)
    ASSERT_EQ(float(gradient[size_t(j)]), j % 2 == 0 ? 16.0f / 8192 : 0.0f) << j;
  EXPECT_NEAR(block.losses[0], std::log(8192.0), 1e-5);
}

TYPED_TEST(SoftmaxBlocks, WriteTheirOwnRowAlone) {
  SoftmaxCase<TypeParam> block(3, 90, 96);
  const std::vector<float> before = block.x;
  block.run_block(1);
  for (size_t i = 0; i < before.size(); ++i) {
    const bool own = i >= 96 && i < 96 + 96 * sizeof(TypeParam) / sizeof(float);
    ASSERT_TRUE(own || block.x[i] == before[i]) << i;
  }
  EXPECT_EQ(block.losses[0], -1.0);
  EXPECT_GT(block.losses[1], 0.0);
  EXPECT_EQ(block.losses[2], -1.0);
}

TYPED_TEST(SoftmaxBlocks, WithoutGradientLeaveLogits) {
  SoftmaxCase<TypeParam> block(2, 100, 104);
  const std::vector<float> logits = block.x;
  block.run_blocks(false);
  EXPECT_EQ(block.x, logits);
  EXPECT_GT(block.losses[1], 0.0);
}

TYPED_TEST(SoftmaxBlocks, HaveALossThatIsNotFiniteWhereNoneExists) {
  constexpr int64_t kColumns = 24;
  SoftmaxCase<TypeParam> block(5, 20, kColumns);
  std::fill_n(block.x.begin(), 12, -kInfinity);
  std::fill_n(block.x.begin() + kColumns, 20, -kInfinity);  // nothing at all
  block.x[2 * kColumns + 3] = kInfinity;
  block.x[3 * kColumns + 3] = std::nanf("");
  block.targets = {15, 7, 14, 1, 20};  // 20 is no class
  const double finite = Reference(block, 0).loss;
  block.run_blocks();
  EXPECT_NEAR(block.losses[0], finite, 1e-5);
  EXPECT_EQ(float(block.row(0)[3]), 0.0f);
  for (int64_t r : {1, 2, 3, 4}) {
    EXPECT_FALSE(std::isfinite(block.losses[size_t(r)])) << r;
    for (int64_t j = 20; j < kColumns; ++j) EXPECT_EQ(float(block.row(r)[size_t(j)]), 0.0f) << r;
  }
}

TEST(HeldRows, AreLongAlignedAndFitTheRegistersOfABlock) {
  alignas(16) std::byte memory[32];
  const auto holds = [&](int64_t padded, int64_t offset = 0) {
    return holds_rows({memory + offset, padded, padded});
  };
  EXPECT_TRUE(holds(50304));
  EXPECT_TRUE(holds(kLeastHeldLogits));
  EXPECT_FALSE(holds(kLeastHeldLogits - 8));
  EXPECT_TRUE(holds(kMostHeldLogits));
  EXPECT_FALSE(holds(kMostHeldLogits + 8));
  EXPECT_FALSE(holds(50300)) << "no whole runs";
  EXPECT_FALSE(holds(50304, 4)) << "no access of 16 bytes";
}

}  // namespace
}  // namespace zero::kernels
