// Ranks: 1

#include "kernels/support/norm_block.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/balanced_tree.hpp"
#include "tests/support/device_block.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/norm_checks.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/rms_reference.hpp"
#include "zero/base/error.hpp"
#include "zero/device/device.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {
namespace {

using testing::poisoned;
constexpr float kEpsilon = 1e-5f;

/// Runs `code` as every thread of every block, the last block first.
template <class Code>
void run_blocks(int64_t blocks, int warps, const Code& code) {
  for (int64_t index = blocks - 1; index >= 0; --index) {
    testing::HostBlock(index, warps * kWarpLanes, 0, [&](const testing::HostBlockThread& block) {
      code(block);
    }).run();
  }
}

/// A layer norm by blocks of a GPU's threads, forwards and backwards.
template <class T>
struct NormCase {
  NormExtents extents;
  std::vector<T> x, weight, bias, dy, add;
  std::vector<T> y, dx, dweight, dbias, dx_sum;
  std::vector<float> mean, rstd, scratch;

  explicit NormCase(NormExtents e)
      : extents(e),
        x(noise<T>(e.rows * e.width, 1, 2.0)),
        weight(noise<T>(e.width, 2)),
        bias(noise<T>(e.width, 3)),
        dy(noise<T>(e.rows * e.width, 4)),
        y(poisoned<T>(e.rows * e.width)),
        dx(poisoned<T>(e.rows * e.width)),
        dweight(poisoned<T>(e.width)),
        dbias(poisoned<T>(e.width)),
        dx_sum(poisoned<T>(e.width)),
        mean(poisoned<float>(e.rows)),
        rstd(poisoned<float>(e.rows)),
        scratch(poisoned<float>(layernorm_scratch_numel(e, true))) {}

  LayerNormGradArrays<T> arrays() {
    return {dy.data(),      x.data(),       weight.data(),
            mean.data(),    rstd.data(),    add.empty() ? nullptr : add.data(),
            dx.data(),      dweight.data(), dbias.data(),
            scratch.data(), dx_sum.data()};
  }

  template <bool kWhole>
  void forward() {
    const NormForwardBlock<T, kWhole> code{
        extents,
        kEpsilon,
        {x.data(), weight.data(), bias.data(), y.data(), mean.data(), rstd.data()}};
    run_blocks(code.blocks(), kNormWarps, code);
  }

  template <bool kWhole>
  void backward(const LayerNormGradArrays<T>& to) {
    const NormGradBlock<T, kWhole> code{RowChunks{extents.rows}, extents.width, to};
    run_blocks(code.chunks.count(), kNormGradWarps, code);
    T* const out[] = {to.dweight, to.dbias, to.dx_sum};
    for (int v = 0; v < code.sums(); ++v) {
      for (int64_t j = 0; j < extents.width; ++j) {
        std::vector<float> chunks(size_t(code.chunks.count()));
        for (size_t c = 0; c < chunks.size(); ++c)
          chunks[c] =
              scratch[(c * size_t(code.sums()) + size_t(v)) * size_t(extents.width) + size_t(j)];
        out[v][j] = T(testing::balanced_sum(std::move(chunks)));
      }
    }
  }

  void run() {
    forward<false>();
    backward<false>(arrays());
  }

  testing::Norm reference() const {
    return {size_t(extents.width), kEpsilon, doubles(x), doubles(weight), doubles(bias)};
  }
};

template <class T>
class NormBlock : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(NormBlock, Elements);

TYPED_TEST(NormBlock, AgreesWithDoubleLoopsBothWays) {
  for (const NormExtents extents : {NormExtents{3, 5}, {9, 100}, {33, 768}, {300, 17}, {2, 4200}}) {
    SCOPED_TRACE(text(extents.rows, " x ", extents.width));
    NormCase<TypeParam> c(extents);
    c.add = noise<TypeParam>(extents.rows * extents.width, 5);
    c.run();
    const testing::Norm reference = c.reference();
    auto gradients = reference.backward(doubles(c.dy));
    for (size_t i = 0; i < c.add.size(); ++i) gradients.dx[i] += double(float(c.add[i]));
    testing::expect_near<TypeParam>(c, reference.forward(), gradients);
    EXPECT_LT(relative_error(c.dbias, gradients.dbias), rounding<TypeParam>() + 2e-6);
  }
}

TYPED_TEST(NormBlock, AddsRowsInTheHostsOrder) {
  if (drives_devices()) GTEST_SKIP() << "whole rows of a GPU are added as NormGradRows does";
  for (int64_t rows : {1, 5, 17, 70, 4500}) {
    NormCase<TypeParam> c({rows, 24});
    c.run();
    std::vector<TypeParam> dx(c.dx), dweight(c.dweight), dbias(c.dbias), dx_sum(c.dx_sum);
    auto scratch = poisoned<float>(int64_t(c.scratch.size()));
    LayerNormGradArrays<TypeParam> host = c.arrays();
    host.dx = dx.data(), host.dweight = dweight.data(), host.dbias = dbias.data();
    host.dx_sum = nullptr, host.scratch = scratch.data();
    Stream stream(1);
    layernorm_backward(stream, c.extents, host);
    column_sum(stream, rows, c.extents.width, c.dx.data(), dx_sum.data(), scratch.data());
    stream.wait();
    EXPECT_TRUE(same_bits(c.dweight, dweight)) << rows;
    EXPECT_TRUE(same_bits(c.dbias, dbias)) << rows;
    EXPECT_TRUE(same_bits(c.dx_sum, dx_sum)) << rows;
  }
}

TYPED_TEST(NormBlock, InWholeRunsHasTheBitsOfSingleElements) {
  NormCase<TypeParam> single({37, 1320}), whole({37, 1320});
  single.run();
  whole.template forward<true>();
  whole.template backward<true>(whole.arrays());
  using Case = NormCase<TypeParam>;
  testing::expect_same_arrays<Case, TypeParam>(
      single, whole, {&Case::y, &Case::dx, &Case::dweight, &Case::dbias, &Case::dx_sum});
  testing::expect_same_arrays<Case, float>(single, whole, {&Case::mean, &Case::rstd});
}

TYPED_TEST(NormBlock, WritesDxWhereDyOrWhatIsAddedLay) {
  NormCase<TypeParam> c({40, 96});
  c.add = noise<TypeParam>(40 * 96, 5);
  c.run();
  const auto sums = c.dx_sum, dweight = c.dweight;
  testing::expect_dx_in_place(c, [&](const LayerNormGradArrays<TypeParam>& arrays) {
    c.template backward<true>(arrays);
    EXPECT_TRUE(same_bits(sums, c.dx_sum));
    EXPECT_TRUE(same_bits(dweight, c.dweight));
  });
}

TYPED_TEST(NormBlock, LeavesTheColumnsOfDxWhereNobodyAsks) {
  NormCase<TypeParam> with({70, 40}), without({70, 40});
  with.run();
  without.template forward<true>();
  LayerNormGradArrays<TypeParam> arrays = without.arrays();
  arrays.dx_sum = nullptr;
  without.template backward<true>(arrays);
  EXPECT_TRUE(same_bits(with.dx, without.dx));
  EXPECT_TRUE(same_bits(with.dweight, without.dweight));
  EXPECT_TRUE(same_bits(with.dbias, without.dbias));
}

constexpr float kRmsEpsilon = 1e-6f;

/// An RMS norm by blocks of a GPU's threads, forwards and backwards.
template <class T>
struct RmsCase {
  NormExtents extents;
  std::vector<T> x, weight, dy, add, y, dx, dweight;
  std::vector<float> rrms, scratch;

  explicit RmsCase(NormExtents e)
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
        extents, kRmsEpsilon, {x.data(), weight.data(), y.data(), rrms.data()}};
    run_blocks(forward.blocks(), kNormWarps, forward);
    const RmsGradBlock<T, kWhole> backward{RowChunks{extents.rows}, extents.width, to};
    run_blocks(backward.chunks.count(), kNormGradWarps, backward);
    for (size_t j = 0; j < size_t(extents.width); ++j) {
      std::vector<float> chunks(size_t(backward.chunks.count()));
      for (size_t c = 0; c < chunks.size(); ++c) chunks[c] = scratch[c * size_t(extents.width) + j];
      to.dweight[j] = T(testing::balanced_sum(std::move(chunks)));
    }
  }
};

template <class T>
class RmsBlock : public ::testing::Test {};
TYPED_TEST_SUITE(RmsBlock, Elements);

TYPED_TEST(RmsBlock, AgreesWithDoubleLoopsBothWays) {
  for (const NormExtents extents : {NormExtents{3, 5}, {9, 100}, {33, 768}, {300, 17}, {2, 4200}}) {
    SCOPED_TRACE(text(extents.rows, " x ", extents.width));
    RmsCase<TypeParam> c(extents);
    c.template run<false>(c.arrays());
    const testing::RmsNorm reference{size_t(extents.width), kRmsEpsilon, doubles(c.x),
                                     doubles(c.weight)};
    auto gradients = reference.backward(doubles(c.dy));
    for (size_t i = 0; i < c.add.size(); ++i) gradients.dx[i] += double(float(c.add[i]));
    testing::expect_near<TypeParam>(c, reference.forward(), gradients);
  }
}

TYPED_TEST(RmsBlock, AddsRowsInTheHostsOrder) {
  if (drives_devices()) GTEST_SKIP() << "whole rows of a GPU are added as NormGradRows does";
  for (int64_t rows : {1, 17, 70, 4500}) {
    RmsCase<TypeParam> c({rows, 24});
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
  RmsCase<TypeParam> single({37, 1320}), whole({37, 1320});
  single.template run<false>(single.arrays());
  whole.template run<true>(whole.arrays());
  using Case = RmsCase<TypeParam>;
  testing::expect_same_arrays<Case, TypeParam>(single, whole,
                                               {&Case::y, &Case::dx, &Case::dweight});
  EXPECT_TRUE(same_bits(single.rrms, whole.rrms));
}

TYPED_TEST(RmsBlock, WritesDxWhereDyOrWhatIsAddedLay) {
  RmsCase<TypeParam> c({40, 96});
  c.template run<true>(c.arrays());
  testing::expect_dx_in_place(
      c, [&](const RmsNormGradArrays<TypeParam>& arrays) { c.template run<true>(arrays); });
}

}  // namespace
}  // namespace zero::kernels
