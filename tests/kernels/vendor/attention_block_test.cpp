// Ranks: 1

#include "kernels/vendor/attention_block.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/vendor/attention_backward_block.hpp"
#include "kernels/vendor/attention_problem.hpp"
#include "tests/support/attention_run.hpp"
#include "tests/support/device_block.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::AttentionCase;
using testing::HostBlockThread;
using testing::poisoned;
using testing::sixteenths;

/// Runs `code` as every thread of every block of a launch, the last block first.
template <class Code>
void launch(int64_t blocks, int64_t shared_numel, const Code& code) {
  for (int64_t index = blocks - 1; index >= 0; --index)
    testing::HostBlock(index, kAttentionThreads, shared_numel, code).run();
}

/// Rows of queries and of keys with values, far apart.
template <class T>
struct Operands {
  std::vector<T> q, kv, dy;

  explicit Operands(const AttentionCase& shape)
      : q(sixteenths<T>(shape.rows() * shape.width(), 1)),
        kv(sixteenths<T>(shape.key_rows() * 2 * shape.key_width(), 3)),
        dy(sixteenths<T>(shape.rows() * shape.width(), 2)) {}

  testing::AttentionReference reference(const AttentionCase& shape) const {
    const auto both = testing::doubles(kv);
    return testing::attention_reference(shape,
                                        {.q = testing::doubles(q),
                                         .k = testing::part_of_rows(both, shape.key_width(), 2, 0),
                                         .v = testing::part_of_rows(both, shape.key_width(), 2, 1)},
                                        testing::doubles(dy));
  }
  AttentionInputs<T> inputs(const AttentionCase& shape) const {
    auto in = paired_attention<T>(shape.extents, q.data(), kv.data());
    in.bias = shape.extents.biased ? shape.bias.data() : nullptr;
    in.key_counts = shape.extents.counted ? shape.counts.data() : nullptr;
    in.first = shape.extents.ranged ? shape.first.data() : nullptr;
    return in;
  }
};

/// All launches of both directions.
template <class T, int kParts>
testing::PairedResult<T> run_blocks(const AttentionCase& shape, const Operands<T>& operands) {
  const AttentionExtents& extents = shape.extents;
  testing::PairedResult<T> out{
      poisoned<T>(shape.rows() * shape.width()), poisoned<T>(shape.rows() * shape.width()),
      poisoned<T>(shape.key_rows() * 2 * shape.key_width()),
      poisoned<float>(shape.rows() * extents.heads), poisoned<float>(int64_t(shape.bias.size()))};
  // What is added to the last element, be it zero, takes its sign.
  auto scratch = poisoned<float>(own_scratch_bytes(extents) / 4 + 1);
  scratch.back() = -0.0f;
  const AttentionLaunch all{extents, shape.site, &shape.inputs};
  const int64_t queries = attention_blocks(extents, Own::queries);
  const int64_t backward = attention_shared_numel(extents.head_width, true);
  const AttentionInputs<T> in = operands.inputs(shape);
  launch(queries, attention_shared_numel(extents.head_width, false),
         [&](const HostBlockThread& block) {
           AttentionForward<T, kParts, HostBlockThread>(
               block, all, {in, out.y.data(), out.logsumexp.data(), nullptr})
               .run();
         });
  T* const dkv = out.dkv.data();
  const AttentionGradArrays<T> arrays{in,
                                      operands.dy.data(),
                                      out.y.data(),
                                      out.logsumexp.data(),
                                      out.dq.data(),
                                      dkv,
                                      dkv + shape.key_width(),
                                      scratch.data(),
                                      extents.biased ? out.dbias.data() : nullptr};
  launch(queries, backward + kScoreTileNumel, [&](const HostBlockThread& block) {
    attention_query_gradient<T, kParts>(block, all, arrays);
  });
  launch(attention_blocks(extents, Own::keys), backward, [&](const HostBlockThread& block) {
    attention_key_gradient<T, kParts>(block, all, arrays);
  });
  if (!extents.biased) return out;
  launch(bias_gradient_blocks(extents), 0,
         [&](const HostBlockThread& block) { attention_bias_gradient<T>(block, all, arrays); });
  EXPECT_TRUE(std::signbit(scratch.back())) << "written behind the scratch";
  return out;
}

template <class T, int kParts>
void check(const AttentionCase& shape) {
  SCOPED_TRACE(text(name_of(dtype_of<T>()), " ", shape.extents.samples, " samples of ",
                    shape.extents.length, " queries and ", shape.extents.key_length(), " keys, ",
                    shape.extents.heads, " heads of ", shape.extents.head_width, ", dropout ",
                    shape.site.probability));
  const Operands<T> operands(shape);
  const auto got = run_blocks<T, kParts>(shape, operands);
  const auto expected = operands.reference(shape);
  const double rounding = testing::rounding<T>();
  EXPECT_LT(relative_error(got.y, expected.y), 2 * rounding + 1e-6);
  EXPECT_LT(relative_error(got.logsumexp, expected.logsumexp), 4 * 0x1p-23);
  EXPECT_LT(relative_error(got.dq, expected.dq), 3 * rounding + 1e-6);
  EXPECT_LT(
      relative_error(got.dkv, testing::side_by_side({expected.dk, expected.dv}, shape.key_width())),
      3 * rounding + 1e-6);
  EXPECT_LT(relative_error(got.dbias, expected.dbias), 3 * rounding + 1e-6);
}

AttentionCase shape_of(int64_t length, int64_t head_width, float dropout = 0.0f) {
  AttentionCase shape{
      .extents = {.samples = 1, .length = length, .heads = 2, .head_width = head_width}};
  shape.site.probability = dropout;
  return shape;
}

TEST(AttentionBlock, AgreesWithDoubleLoopsInEveryType) {
  check<float, 2>(shape_of(33, 40));
  check<bf16, 2>(shape_of(33, 40));
  check<f16, 2>(shape_of(33, 40));
}

TEST(AttentionBlock, KnowsOneSampleFromAnother) {
  AttentionCase shape = shape_of(5, 3, 0.25f);
  shape.extents.samples = 3;
  check<float, 1>(shape);
}

TEST(AttentionBlock, AgreesWithDoubleLoopsForAnyLength) {
  for (int64_t length : {1, 32, 70}) check<float, 1>(shape_of(length, 8));
}

TEST(AttentionBlock, AgreesWithDoubleLoopsForAnyHeadWidth) {
  for (int64_t head_width : {1, 32}) check<float, 1>(shape_of(9, head_width));
  check<float, 4>(shape_of(34, 100));
  check<float, 8>(shape_of(9, 200));
}

TEST(AttentionBlock, ScalesHeadsThatEndWithZerosByTheirRealWidth) {
  AttentionCase shape = shape_of(9, 16);
  shape.extents.real_width = 9;
  check<float, 1>(shape);
}

TEST(AttentionBlock, DropsTheProbabilitiesThatPhiloxNames) {
  for (int64_t length : {5, 66}) check<float, 1>(shape_of(length, 12, 0.25f));
}

AttentionCase with_bias(AttentionCase shape) {
  shape.extents.biased = true;
  shape.bias = sixteenths<float>(shape.extents.heads * shape.extents.diagonals(), 6);
  return shape;
}

TEST(AttentionBlock, OfTwoTextsAgreesWithDoubleLoops) {
  for (int64_t keys : {1, 33, 70}) {
    AttentionCase shape = shape_of(40, 12, 0.25f);
    shape.extents.keys = keys;
    shape.extents.causal = false;
    check<float, 1>(shape);
  }
}

TEST(AttentionBlock, AddsABiasAndSumsItsGradientOverSamplesAndTiles) {
  for (bool causal : {true, false}) {
    AttentionCase shape = shape_of(70, 8, 0.25f);
    shape.extents.samples = 2;
    shape.extents.causal = causal;
    shape.extents.divide_by = 1;
    check<float, 1>(with_bias(shape));
    check<bf16, 1>(with_bias(shape));
  }
  AttentionCase pair = shape_of(40, 8);
  pair.extents.keys = 67;
  pair.extents.causal = false;
  check<float, 1>(with_bias(pair));
}

TEST(AttentionBlock, PassesOverPadding) {
  for (bool causal : {true, false}) {
    AttentionCase shape = shape_of(70, 8);
    shape.extents.samples = 4;
    shape.extents.causal = causal;
    shape.extents.counted = true;
    shape.counts = {70, 0, 1, 33};
    check<float, 1>(with_bias(shape));
  }
}

TEST(AttentionBlock, OfFewerHeadsOfKeysSumsTheirGradients) {
  for (int64_t key_heads : {1, 2}) {
    AttentionCase shape = shape_of(40, 9, 0.25f);
    shape.extents.heads = 4;
    shape.extents.samples = 2;
    shape.extents.key_heads = key_heads;
    check<float, 1>(shape);
    check<bf16, 1>(with_bias(shape));
  }
}

TEST(AttentionBlock, PassesOverKeysInFrontOfAWindow) {
  for (int64_t window : {1, 7, 32, 33, 70, 100}) {
    AttentionCase shape = shape_of(70, 8, 0.25f);
    shape.extents.window = window;
    check<float, 1>(shape);
  }
}

TEST(AttentionBlock, CapsScores) {
  for (float cap : {0.25f, 2.0f}) {
    AttentionCase shape = shape_of(40, 8);
    shape.extents.cap = cap;
    check<float, 1>(with_bias(shape));
  }
}

TEST(AttentionBlock, PassesOverOtherDocuments) {
  for (const std::vector<int32_t>& begins : {std::vector<int32_t>{0, 1, 34, 64, 100}, {0, 69}}) {
    AttentionCase shape = shape_of(110, 8);
    shape.extents.key_heads = 1;
    shape.extents.ranged = true;
    for (int32_t query = 0; query < 110; ++query)
      shape.first.push_back(*std::prev(std::ranges::upper_bound(begins, query)));
    check<float, 1>(shape);
    shape.extents.cap = 1;
    shape.extents.window = 20;
    shape.extents.counted = true;
    shape.counts = {50};
    check<bf16, 1>(with_bias(shape));
  }
}

/// Heads of 40 are BlenderBot's: more than a warp's lanes, and no two of them.
template <class T>
void check_heads_of_40() {
  for (const bool causal : {true, false}) {
    AttentionCase shape = shape_of(37, 40, 0.25f);
    shape.extents.samples = 3;
    shape.extents.causal = causal;
    shape.extents.keys = causal ? 37 : 67;
    shape.extents.counted = true;
    shape.counts = {33, 0, causal ? 37 : 67};
    check<T, 2>(shape);
    check<T, 2>(with_bias(shape));
  }
}

TEST(AttentionBlock, OfHeadsOf40TakesPaddingABiasAndAnotherText) {
  check_heads_of_40<float>();
  check_heads_of_40<bf16>();
  check_heads_of_40<f16>();
}

}  // namespace
}  // namespace zero::kernels::vendor
