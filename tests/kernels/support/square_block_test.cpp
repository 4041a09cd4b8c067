// Ranks: 1

#include "kernels/support/square_block.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/support/device_block.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "zero/kernels/gradients.hpp"

namespace zero::kernels {
namespace {

constexpr int64_t kBlocksOfOne = kSquareWarps * kSquareBlocks;

struct OneThread {
  void add(int64_t& sum, int64_t more) const { sum += more; }
};

TEST(PendingSum, AddsWhatItsTermsDo) {
  // Other digits each time, the same ones again, and terms that cancel.
  const std::vector<double> terms = {1, 3, 0x1p40, 0x1p41, -0x1p40, 0x1p-60, 5, 0x1p-1070, 0, -3};
  ExactSum pending{}, expected{};
  const OneThread thread;
  PendingSum<OneThread> sum(thread, pending);
  for (double term : terms) {
    sum.add(term);
    expected.add(term);
  }
  sum.flush();
  for (int i = 0; i < ExactSum::kLimbs; ++i) EXPECT_EQ(pending.limb[i], expected.limb[i]) << i;
  sum.flush();
  EXPECT_EQ(pending.value(), expected.value()) << "flushed twice";
}

template <class T, bool kWhole = false, class G>
StepSums squares_of(const std::vector<G>& grad) {
  StepSums sums{};
  const SquareBlock<T, G, !std::is_same_v<T, G>, kWhole> code{int64_t(grad.size()), grad.data(),
                                                              &sums};
  for (int64_t index = code.blocks() - 1; index >= 0; --index) {
    testing::HostBlock(index, kSquareWarps * kWarpLanes, 0,
                       [&](const testing::HostBlockThread& block) { code(block); })
        .run();
  }
  return sums;
}

template <class T>
class SquareBlocks : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(SquareBlocks, Elements);

TYPED_TEST(SquareBlocks, AgreeWithADoubleLoopOfAnyLength) {
  for (int64_t numel : {int64_t(1), int64_t(7), kBlockNumel - 1, kBlockNumel + 9,
                        (kBlocksOfOne + 1) * kBlockNumel + 17}) {
    const auto grad = noise<TypeParam>(numel, 1);
    double expected = 0;
    for (const TypeParam value : grad) expected += double(float(value)) * double(float(value));
    const StepSums sums = squares_of<TypeParam>(grad);
    EXPECT_NEAR(sums.grad_squares.value(), expected, 1e-12 * expected) << numel;
    EXPECT_EQ(sums.nonfinite, 0);
  }
}

TYPED_TEST(SquareBlocks, HaveTheSameBitsInWholeRunsAndHoweverTheyAreCut) {
  const int64_t numel = (kBlocksOfOne + 3) * kBlockNumel;
  const auto grad = noise<TypeParam>(numel, 2);
  const StepSums single = squares_of<TypeParam>(grad), whole = squares_of<TypeParam, true>(grad);
  ExactSum cut{};
  for (int64_t begin = 0; begin < numel;) {
    const int64_t end = std::min(numel, begin + 5 * kBlockNumel);
    cut.add(squares_of<TypeParam, true>(
                std::vector<TypeParam>(grad.begin() + begin, grad.begin() + end))
                .grad_squares);
    begin = end;
  }
  EXPECT_EQ(single.grad_squares.value(), whole.grad_squares.value());
  EXPECT_EQ(single.grad_squares.value(), cut.value());
}

TYPED_TEST(SquareBlocks, CountABlockWithWhatIsNotFiniteAndAddNothingOfIt) {
  std::vector<TypeParam> grad(size_t(4 * kBlockNumel), TypeParam(1.0f));
  grad[5] = TypeParam(std::numeric_limits<float>::infinity());
  grad[size_t(3 * kBlockNumel)] = TypeParam(std::numeric_limits<float>::quiet_NaN());
  const StepSums sums = squares_of<TypeParam>(grad);
  EXPECT_EQ(sums.nonfinite, 2);
  EXPECT_EQ(sums.grad_squares.value(), 2.0 * kBlockNumel);
}

TEST(SquareBlocksOfSums, RoundThemFirst) {
  const std::vector<float> grad(3, 1.00390625f);  // between two bf16: to even, 1
  EXPECT_EQ(squares_of<bf16>(grad).grad_squares.value(), 3.0);
}

}  // namespace
}  // namespace zero::kernels
