// Ranks: 1

#include <gtest/gtest.h>

#include "kernels/vendor/attention_problem.hpp"
#include "kernels/vendor/cuda/attention.hpp"
#include "tests/support/attention_run.hpp"
#include "tests/support/kernel_arrays.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::AttentionCase;
using testing::AttentionResult;
using testing::poisoned;
using testing::sixteenths;

/// As testing::run, whatever a library would do.
template <class T>
AttentionResult<T> run_own(const AttentionCase& shape, const std::vector<T>& qkv,
                           const std::vector<T>& dy) {
  Stream stream(1);
  adopt_threads(stream);
  AttentionResult<T> out{poisoned<T>(shape.rows() * shape.width()),
                         poisoned<T>(shape.rows() * 3 * shape.width()),
                         poisoned<float>(shape.rows() * shape.extents.heads),
                         {}};
  auto scratch = poisoned<float>(own_scratch_bytes(shape.extents) / 4 + 1);
  const AttentionLaunch launch{shape.extents, shape.site, &shape.inputs};
  const auto in = packed_attention<T>(shape.extents, qkv.data());
  T* const dqkv = out.dqkv.data();
  own_attention<T>(stream, launch, {in, out.y.data(), out.logsumexp.data(), nullptr});
  own_attention_backward<T>(stream, launch,
                            {in, dy.data(), out.y.data(), out.logsumexp.data(), dqkv,
                             dqkv + shape.width(), dqkv + 2 * shape.width(), scratch.data()});
  stream.wait();
  EXPECT_TRUE(testing::same_bits({scratch.back()}, poisoned<float>(1)));
  return out;
}

template <class T>
class OwnAttention : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(OwnAttention, Elements);

TYPED_TEST(OwnAttention, AgreesWithDoubleLoopsAndDropsWhatTheHostDrops) {
  using T = TypeParam;
  for (int64_t length : {1, 33, 130})
    for (int64_t head_width : {8, 40, 100, 200}) {
      AttentionCase shape{
          .extents = {.samples = 2, .length = length, .heads = 3, .head_width = head_width}};
      shape.site.probability = 0.25f;
      const auto qkv = sixteenths<T>(shape.rows() * 3 * shape.width(), 1);
      const auto dy = sixteenths<T>(shape.rows() * shape.width(), 2);
      const auto expected = testing::attention_reference(shape, doubles(qkv), doubles(dy));
      const AttentionResult<T> got = run_own(shape, qkv, dy);
      EXPECT_LT(relative_error(got.y, expected.y), 2 * testing::rounding<T>() + 1e-6);
      EXPECT_LT(relative_error(got.logsumexp, expected.logsumexp), 4 * 0x1p-23);
      EXPECT_LT(relative_error(got.dqkv, expected.dqkv), 3 * testing::rounding<T>() + 1e-6);
    }
}

}  // namespace
}  // namespace zero::kernels::vendor
