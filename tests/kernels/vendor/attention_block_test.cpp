// Ranks: 1

#include "kernels/vendor/attention_block.hpp"

#include <gtest/gtest.h>

#include "kernels/vendor/attention_backward_block.hpp"
#include "tests/support/attention_reference.hpp"
#include "tests/support/device_block.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::AttentionCase;
using testing::HostBlockThread;
using testing::poisoned;
using testing::relative_error;
using testing::sixteenths;

/// Runs `code` as every thread of every block of a launch, the last block first.
template <class Code>
void launch(const AttentionExtents& extents, bool backward, const Code& code) {
  const int64_t numel = attention_shared_numel(extents.head_width, backward);
  for (int64_t index = attention_blocks(extents) - 1; index >= 0; --index)
    testing::HostBlock(index, kAttentionThreads, numel, code).run();
}

template <class T, int kParts>
void check(const AttentionCase& shape) {
  SCOPED_TRACE(text(name_of(dtype_of<T>()), " ", shape.extents.samples, " samples of ",
                    shape.extents.length, ", ", shape.extents.heads, " heads of ",
                    shape.extents.head_width, ", dropout ", shape.site.probability));
  const auto qkv = sixteenths<T>(shape.rows() * 3 * shape.width(), 1);
  const auto dy = sixteenths<T>(shape.rows() * shape.width(), 2);
  auto y = poisoned<T>(shape.rows() * shape.width());
  auto dqkv = poisoned<T>(shape.rows() * 3 * shape.width());
  auto logsumexp = poisoned<float>(shape.rows() * shape.extents.heads);
  auto scratch = poisoned<float>(shape.rows() * shape.extents.heads);
  const AttentionLaunch all{shape.extents, shape.site, &shape.inputs};
  launch(shape.extents, false, [&](const HostBlockThread& block) {
    AttentionForward<T, kParts, HostBlockThread>(block, all,
                                                 {qkv.data(), y.data(), logsumexp.data(), nullptr})
        .run();
  });
  const AttentionGradArrays<T> arrays{dy.data(),        y.data(),    qkv.data(),
                                      logsumexp.data(), dqkv.data(), scratch.data()};
  launch(shape.extents, true, [&](const HostBlockThread& block) {
    attention_query_gradient<T, kParts>(block, all, arrays);
  });
  launch(shape.extents, true, [&](const HostBlockThread& block) {
    attention_key_gradient<T, kParts>(block, all, arrays);
  });
  const auto expected =
      testing::attention_reference(shape, testing::doubles(qkv), testing::doubles(dy));
  const double rounding = testing::rounding<T>();
  EXPECT_LT(relative_error(y, expected.y), 2 * rounding + 1e-6);
  EXPECT_LT(relative_error(logsumexp, expected.logsumexp), 4 * 0x1p-23);
  EXPECT_LT(relative_error(dqkv, expected.dqkv), 3 * rounding + 1e-6);
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

}  // namespace
}  // namespace zero::kernels::vendor
