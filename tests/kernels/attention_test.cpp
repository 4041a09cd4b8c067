// Ranks: 1

#include "zero/kernels/attention.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/attention_run.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {
namespace {

using testing::AttentionCase;
using testing::relative_error;
using testing::run;
using testing::same_bits;
using testing::sixteenths;

template <class T>
using Result = testing::AttentionResult<T>;

template <class T>
void check(const AttentionCase& shape, int threads = 1) {
  SCOPED_TRACE(text(name_of(dtype_of<T>()), " ", shape.extents.samples, " samples of ",
                    shape.extents.length, ", ", shape.extents.heads, " heads of ",
                    shape.extents.head_width, ", dropout ", shape.site.probability));
  auto qkv = sixteenths<T>(shape.rows() * 3 * shape.width(), 1);
  for (T& value : qkv) value = T(2.0f * float(value));
  const auto dy = sixteenths<T>(shape.rows() * shape.width(), 2);
  const auto expected =
      testing::attention_reference(shape, testing::doubles(qkv), testing::doubles(dy));
  const Result<T> got = run(shape, qkv, dy, threads);
  const testing::AttentionBounds bounds = testing::attention_bounds<T>();
  EXPECT_LT(relative_error(got.y, expected.y), bounds.y);
  EXPECT_LT(relative_error(got.logsumexp, expected.logsumexp), bounds.logsumexp);
  EXPECT_LT(relative_error(got.dqkv, expected.dqkv), bounds.dqkv);
}

template <class T>
class Attention : public ::testing::Test {};
using Types = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Attention, Types);

TYPED_TEST(Attention, AgreesWithDoubleLoopsForAnyHeadWidth) {
  for (int64_t head_width : {1, 10, 16, 40, 64, 100})
    check<TypeParam>(
        {.extents = {.samples = 2, .length = 37, .heads = 3, .head_width = head_width}});
}

TYPED_TEST(Attention, ScalesHeadsThatEndWithZerosByTheirRealWidth) {
  check<TypeParam>(
      {.extents = {.samples = 2, .length = 37, .heads = 3, .head_width = 16, .real_width = 9}});
}

TYPED_TEST(Attention, AgreesWithDoubleLoopsForAnyLength) {
  for (int64_t length : {1, 2, 15, 16, 17, 127, 128, 129, 200})
    check<TypeParam>({.extents = {.samples = 1, .length = length, .heads = 2, .head_width = 8}});
}

TYPED_TEST(Attention, OfSeveralTilesOfKeysAgreesWithDoubleLoops) {
  check<TypeParam>({.extents = {.samples = 1, .length = 1030, .heads = 2, .head_width = 10}}, 2);
}

TYPED_TEST(Attention, DropsTheProbabilitiesThatPhiloxNames) {
  if (testing::by_library<TypeParam>())
    GTEST_SKIP() << "masks are those of " << attention_library() << ": CudnnAttention tests them";
  for (int64_t length : {5, 64, 133, 601}) {
    AttentionCase shape{.extents = {.samples = 2, .length = length, .heads = 2, .head_width = 12}};
    shape.site.probability = 0.25f;
    check<TypeParam>(shape, 2);
  }
}

TYPED_TEST(Attention, ToOneselfAloneIsTheValue) {
  const AttentionCase shape{.extents = {.samples = 2, .length = 1, .heads = 1, .head_width = 2}};
  std::vector<TypeParam> qkv, dy(4, TypeParam(1.0f));
  for (float value : {0.0f, 0.0f, 5.0f, 5.0f, 3.0f, 4.0f, 0.0f, 0.0f, 5.0f, 5.0f, -3.0f, -4.0f})
    qkv.push_back(TypeParam(value));
  const Result<TypeParam> got = run(shape, qkv, dy);
  EXPECT_EQ(testing::doubles(got.y), (std::vector<double>{3, 4, -3, -4}));
  EXPECT_EQ(testing::doubles(got.dqkv), (std::vector<double>{0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1}));
}

TYPED_TEST(Attention, SurvivesScoresOfHundreds) {
  const AttentionCase shape{.extents = {.samples = 1, .length = 600, .heads = 1, .head_width = 4}};
  auto qkv = sixteenths<TypeParam>(shape.rows() * 12, 9);
  for (TypeParam& value : qkv) value = TypeParam(16.0f * float(value));
  const auto dy = sixteenths<TypeParam>(shape.rows() * 4, 2);
  const auto expected =
      testing::attention_reference(shape, testing::doubles(qkv), testing::doubles(dy));
  const Result<TypeParam> got = run(shape, qkv, dy);
  EXPECT_LT(relative_error(got.y, expected.y), 0.01);
  EXPECT_LT(relative_error(got.logsumexp, expected.logsumexp), 1e-6);
  EXPECT_LT(relative_error(got.dqkv, expected.dqkv), 0.05);
}

TYPED_TEST(Attention, GivesTheSameBitsForAnyThreadsAndFromFourRanksAtOnce) {
  AttentionCase shape{.extents = {.samples = 3, .length = 300, .heads = 3, .head_width = 24}};
  shape.site.probability = 0.1f;
  const auto qkv = sixteenths<TypeParam>(shape.rows() * 3 * shape.width(), 1);
  const auto dy = sixteenths<TypeParam>(shape.rows() * shape.width(), 2);
  const Result<TypeParam> first = run(shape, qkv, dy, 1);
  const auto expect_first = [&](const Result<TypeParam>& other) {
    EXPECT_TRUE(same_bits(first.y, other.y));
    EXPECT_TRUE(same_bits(first.logsumexp, other.logsumexp));
    EXPECT_TRUE(same_bits(first.dqkv, other.dqkv));
  };
  expect_first(run(shape, qkv, dy, 2));
  expect_first(run(shape, qkv, dy, 3));
  std::vector<Result<TypeParam>> others(4);
  std::vector<std::thread> ranks;
  for (auto& other : others)
    ranks.emplace_back([&] { other = run(shape, qkv, dy, 1 + int(&other - others.data()) % 2); });
  for (std::thread& rank : ranks) rank.join();
  for (const auto& other : others) expect_first(other);
}

/// The loss  sum of dy y  at qkv + step * direction.
double loss_at(const AttentionCase& shape, const std::vector<float>& qkv, double step,
               const std::vector<float>& dy) {
  const auto direction = sixteenths<float>(int64_t(qkv.size()), 8);
  std::vector<float> moved(qkv);
  for (size_t i = 0; i < qkv.size(); ++i) moved[i] += float(step) * direction[i];
  const Result<float> result = run(shape, moved, dy);
  double loss = 0;
  for (size_t i = 0; i < dy.size(); ++i) loss += double(dy[i]) * double(result.y[i]);
  return loss;
}

TEST(AttentionGradient, IsTheDifferenceQuotientOfTheForwardPass) {
  for (float probability : {0.0f, 0.5f}) {
    AttentionCase shape{.extents = {.samples = 2, .length = 20, .heads = 2, .head_width = 6}};
    shape.site.probability = probability;
    const auto qkv = sixteenths<float>(shape.rows() * 3 * shape.width(), 4);
    const auto dy = sixteenths<float>(shape.rows() * shape.width(), 5);
    const auto direction = sixteenths<float>(int64_t(qkv.size()), 8);
    const Result<float> result = run(shape, qkv, dy);
    double slope = 0;
    for (size_t i = 0; i < qkv.size(); ++i) slope += double(result.dqkv[i]) * double(direction[i]);
    const double quotient =
        (loss_at(shape, qkv, 0x1p-7, dy) - loss_at(shape, qkv, -0x1p-7, dy)) * 64;
    EXPECT_NEAR(slope, quotient, 1e-3 * std::abs(slope));
  }
}

TEST(AttentionMask, DependsOnSeedSiteAndSampleAndNotOnTheMicroBatch) {
  AttentionCase shape{.extents = {.samples = 2, .length = 24, .heads = 1, .head_width = 4}};
  shape.site.probability = 0.5f;
  auto qkv = sixteenths<float>(shape.rows() * 12, 1);
  const auto dy = sixteenths<float>(shape.rows() * 4, 2);
  const Result<float> both = run(shape, qkv, dy);
  AttentionCase second = shape;
  second.extents.samples = 1;
  second.site.sample_offset += 1;
  const Result<float> alone = run(second, {qkv.begin() + 24 * 12, qkv.end()}, dy);
  EXPECT_TRUE(same_bits(alone.y, {both.y.begin() + 24 * 4, both.y.end()}));
  shape.inputs.seed += 1;
  EXPECT_FALSE(same_bits(both.y, run(shape, qkv, dy).y));
  shape.inputs.seed -= 1;
  shape.site.site += 1;
  EXPECT_FALSE(same_bits(both.y, run(shape, qkv, dy).y));
}

TEST(AttentionRefusal, NamesWhatIsOutOfRange) {
  AttentionCase shape{.extents = {.samples = 1, .length = 4, .heads = 1, .head_width = 4}};
  const auto qkv = sixteenths<float>(48, 1), dy = sixteenths<float>(16, 2);
  EXPECT_NO_THROW(run(shape, qkv, dy));
  shape.site.probability = 1.0f;
  EXPECT_THROW(run(shape, qkv, dy), Error);
  shape.site.probability = 0.0f;
  shape.extents.heads = 0;
  EXPECT_THROW(run(shape, qkv, dy), Error);
}

}  // namespace
}  // namespace zero::kernels
