// Ranks: 1

#include "kernels/support/norm_forward_rows.hpp"

#include <gtest/gtest.h>

#include "kernels/support/norm_block.hpp"
#include "tests/support/device_block.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/reference.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

using testing::poisoned;

constexpr float kForwardEpsilon = 1e-5f;

template <class T>
struct ForwardCase {
  NormExtents extents;
  std::vector<T> x, weight, bias, y;
  std::vector<float> mean, rstd;

  explicit ForwardCase(NormExtents e)
      : extents(e),
        x(noise<T>(e.rows * e.width, 1, 2.0)),
        weight(noise<T>(e.width, 2)),
        bias(noise<T>(e.width, 3)),
        y(poisoned<T>(e.rows * e.width)),
        mean(poisoned<float>(e.rows)),
        rstd(poisoned<float>(e.rows)) {}

  template <class Code>
  void run(int threads) {
    const Code code{extents,
                    kForwardEpsilon,
                    {x.data(), weight.data(), bias.data(), y.data(), mean.data(), rstd.data()}};
    for (int64_t index = code.blocks() - 1; index >= 0; --index) {
      testing::HostBlock(index, threads, 0, [&](const testing::HostBlockThread& block) {
        code(block);
      }).run();
    }
  }
};

template <class T>
class NormForward : public ::testing::Test {};
using ForwardElements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(NormForward, ForwardElements);

template <int kRuns, class T>
void expect_the_bits_of(const ForwardCase<T>& passes) {
  using Code = NormForwardRows<T, kRuns>;
  if (passes.extents.width > Code::kWidest) return;
  SCOPED_TRACE(text(kRuns, " runs"));
  ForwardCase<T> c(passes.extents);
  c.template run<Code>(Code::kThreads);
  EXPECT_TRUE(same_bits(c.y, passes.y));
  EXPECT_TRUE(same_bits(c.mean, passes.mean));
  EXPECT_TRUE(same_bits(c.rstd, passes.rstd));
}

TYPED_TEST(NormForward, OfHeldRowsHasTheBitsOfThreePasses) {
  for (const NormExtents extents : {NormExtents{1, 8},
                                    {9, 104},
                                    {33, 768},
                                    {21, 1024},
                                    {5, 1600},
                                    {4, 2048},
                                    {3, 2056},
                                    {6, 4096}}) {
    SCOPED_TRACE(text(extents.rows, " x ", extents.width));
    ForwardCase<TypeParam> passes(extents);
    passes.template run<NormForwardBlock<TypeParam, true>>(kNormWarps * kWarpLanes);
    expect_the_bits_of<4>(passes);
    expect_the_bits_of<8>(passes);
    expect_the_bits_of<16>(passes);
  }
}

}  // namespace
}  // namespace zero::kernels
