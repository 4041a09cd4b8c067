// Ranks: 1

#include "kernels/support/rms_block.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/arrays.hpp"
#include "tests/support/balanced_tree.hpp"
#include "tests/support/device_block.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/rms_reference.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

using testing::doubles, testing::noise, testing::poisoned, testing::relative_error,
    testing::rounding, testing::same_bits;
constexpr float kEpsilon = 1e-6f;

/// Runs `code` as every thread of every block, the last block first.
template <class Code>
void run_blocks(int64_t blocks, int warps, const Code& code) {
  for (int64_t index = blocks - 1; index >= 0; --index) {
    testing::HostBlock(index, warps * kWarpLanes, 0, [&](const testing::HostBlockThread& block) {
      code(block);
    }).run();
  }
}

/// An RMS norm by blocks of a GPU's threads, forwards and backwards.
template <class T>
struct Case {
  NormExtents extents;
  std::vector<T> x, weight, dy, add, y, dx, dweight;
  std::vector<float> rrms, scratch;

  explicit Case(NormExtents e)
      : extents(e),
        x(noise<T>(e.rows * e.width, 1, 2.0)),
        weight(noise<T>(e.width, 2)),
        dy(noise<T>(e.rows * e.width, 4)),
        add(noise<T>(e.rows * e.width, 5)),
        y(poisoned<T>(e.rows * e.width)),
        dx(poisoned<T>(e.rows * e.width)),
        dweight(poisoned<T>(e.width)),
        rrms(poisoned<float>(e.rows)),
        scratch(poisoned<float>(rmsnorm_scratch_numel(e))) {}

  RmsNormGradArrays<T> arrays() {
    return {dy.data(),  x.data(),  weight.data(),  rrms.data(),
            add.data(), dx.data(), dweight.data(), scratch.data()};
  }

  template <bool kWhole>
  void run(const RmsNormGradArrays<T>& to) {
    const RmsForwardBlock<T, kWhole> forward{
        extents, kEpsilon, {x.data(), weight.data(), y.data(), rrms.data()}};
    run_blocks(forward.blocks(), kRmsWarps, forward);
    const RmsGradBlock<T, kWhole> backward{RowChunks{extents.rows}, extents.width, to};
    run_blocks(backward.chunks.count(), kRmsGradWarps, backward);
    for (size_t j = 0; j < size_t(extents.width); ++j) {
      std::vector<float> chunks(size_t(backward.chunks.count()));
      for (size_t c = 0; c < chunks.size(); ++c) chunks[c] = scratch[c * size_t(extents.width) + j];
      to.dweight[j] = T(testing::balanced_sum(std::move(chunks)));
    }
  }
};

template <class T>
class RmsBlock : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(RmsBlock, Elements);

TYPED_TEST(RmsBlock, AgreesWithDoubleLoopsBothWays) {
  for (const NormExtents extents : {NormExtents{3, 5}, {9, 100}, {33, 768}, {300, 17}, {2, 4200}}) {
    SCOPED_TRACE(text(extents.rows, " x ", extents.width));
    Case<TypeParam> c(extents);
    c.template run<false>(c.arrays());
    const testing::RmsNorm reference{size_t(extents.width), kEpsilon, doubles(c.x),
                                     doubles(c.weight)};
    auto gradients = reference.backward(doubles(c.dy));
    for (size_t i = 0; i < c.add.size(); ++i) gradients.dx[i] += double(float(c.add[i]));
    const double tolerance = rounding<TypeParam>() + 2e-6;
    EXPECT_LT(relative_error(c.y, reference.forward()), tolerance);
    EXPECT_LT(relative_error(c.dx, gradients.dx), tolerance);
    EXPECT_LT(relative_error(c.dweight, gradients.dweight), tolerance);
  }
}

TYPED_TEST(RmsBlock, AddsRowsInTheHostsOrder) {
  for (int64_t rows : {1, 17, 70, 4500}) {
    Case<TypeParam> c({rows, 24});
    c.template run<true>(c.arrays());
    std::vector<TypeParam> dx(c.dx), dweight(c.dweight);
    auto scratch = poisoned<float>(int64_t(c.scratch.size()));
    RmsNormGradArrays<TypeParam> host = c.arrays();
    host.dx = dx.data(), host.dweight = dweight.data(), host.scratch = scratch.data();
    Stream stream(1);
    rmsnorm_backward(stream, c.extents, host);
    stream.wait();
    EXPECT_TRUE(same_bits(c.dweight, dweight)) << rows;
  }
}

TYPED_TEST(RmsBlock, InWholeRunsHasTheBitsOfSingleElements) {
  Case<TypeParam> single({37, 1320}), whole({37, 1320});
  single.template run<false>(single.arrays());
  whole.template run<true>(whole.arrays());
  EXPECT_TRUE(same_bits(single.y, whole.y));
  EXPECT_TRUE(same_bits(single.rrms, whole.rrms));
  EXPECT_TRUE(same_bits(single.dx, whole.dx));
  EXPECT_TRUE(same_bits(single.dweight, whole.dweight));
}

TYPED_TEST(RmsBlock, WritesDxWhereDyOrWhatIsAddedLay) {
  Case<TypeParam> c({40, 96});
  c.template run<true>(c.arrays());
  for (std::vector<TypeParam>* target : {&c.dy, &c.add}) {
    const auto kept = *target;
    RmsNormGradArrays<TypeParam> in_place = c.arrays();
    in_place.dx = target->data();
    c.template run<true>(in_place);
    EXPECT_TRUE(same_bits(*target, c.dx));
    *target = kept;
  }
}

}  // namespace
}  // namespace zero::kernels
