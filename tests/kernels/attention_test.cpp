// Ranks: 1

#include "zero/kernels/attention.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/attention_run.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {
namespace {

using testing::AttentionCase;
using testing::check;
using testing::run;
using testing::sixteenths;

template <class T>
using Result = testing::AttentionResult<T>;

template <class T>
class Attention : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Attention, Elements);

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

/// A case of the grid: each feature alone and with the others.
AttentionCase featured(const AttentionExtents& extents) {
  AttentionCase shape{.extents = extents};
  if (extents.biased) shape.bias = sixteenths<float>(extents.heads * extents.diagonals(), 6);
  if (extents.counted)
    for (int64_t sample = 0; sample < extents.samples; ++sample)
      shape.counts.push_back(
          int32_t((extents.key_length() * (sample + 1) + sample) / (2 * extents.samples)));
  return shape;
}

template <class T>
struct Pair {
  std::vector<T> q, kv, dy;

  explicit Pair(const AttentionCase& shape)
      : q(sixteenths<T>(shape.rows() * shape.width(), 1)),
        kv(sixteenths<T>(shape.key_rows() * 2 * shape.width(), 3)),
        dy(sixteenths<T>(shape.rows() * shape.width(), 2)) {}

  testing::AttentionReference reference(const AttentionCase& shape) const {
    const auto both = testing::doubles(kv);
    return testing::attention_reference(shape,
                                        {.q = testing::doubles(q),
                                         .k = testing::part_of_rows(both, shape.width(), 2, 0),
                                         .v = testing::part_of_rows(both, shape.width(), 2, 1)},
                                        testing::doubles(dy));
  }
};

template <class T>
void check_pair(const AttentionCase& shape, int threads = 1) {
  const AttentionExtents& e = shape.extents;
  SCOPED_TRACE(text(name_of(dtype_of<T>()), " ", e.samples, " samples of ", e.length,
                    " queries and ", e.key_length(), " keys, ", e.heads, " heads of ", e.head_width,
                    e.causal ? ", causal" : "", e.biased ? ", biased" : "",
                    e.counted ? ", padded" : "", ", dropout ", shape.site.probability));
  const Pair<T> pair(shape);
  const auto expected = pair.reference(shape);
  const auto got = testing::run_pair(shape, pair.q, pair.kv, pair.dy, threads);
  const testing::AttentionBounds bounds = testing::attention_bounds<T>();
  EXPECT_LT(relative_error(got.y, expected.y), bounds.y);
  EXPECT_LT(relative_error(got.logsumexp, expected.logsumexp), 2 * bounds.logsumexp);
  EXPECT_LT(relative_error(got.dq, expected.dq), bounds.dqkv);
  EXPECT_LT(
      relative_error(got.dkv, testing::side_by_side({expected.dk, expected.dv}, shape.width())),
      bounds.dqkv);
  EXPECT_LT(relative_error(got.dbias, expected.dbias), bounds.dqkv);
}

TYPED_TEST(Attention, AgreesWithDoubleLoopsForEveryMixtureOfFeatures) {
  for (int64_t head_width : {16, 40, 64, 100, 128})
    for (int features = 0; features < 8; ++features) {
      const bool causal = features & 1, biased = features & 2, counted = features & 4;
      AttentionCase shape = featured({.samples = 3,
                                      .length = 37,
                                      .heads = 2,
                                      .head_width = head_width,
                                      .keys = causal ? 37 : 141,
                                      .causal = causal,
                                      .biased = biased,
                                      .counted = counted,
                                      .divide_by = biased ? 4.0f : 0.0f});
      check_pair<TypeParam>(shape);
    }
}

TYPED_TEST(Attention, OfSeveralTilesAgreesWithDoubleLoopsForEveryMixtureOfFeatures) {
  for (int features = 0; features < 8; ++features) {
    const bool causal = features & 1, biased = features & 2, counted = features & 4;
    AttentionCase shape = featured({.samples = 2,
                                    .length = 300,
                                    .heads = 2,
                                    .head_width = 10,
                                    .keys = causal ? 300 : 601,
                                    .causal = causal,
                                    .biased = biased,
                                    .counted = counted});
    if (!testing::by_library<TypeParam>()) shape.site.probability = 0.25f;
    check_pair<TypeParam>(shape, 2);
  }
}

TYPED_TEST(Attention, ToOneselfTakesABiasAndPadding) {
  AttentionCase shape = featured({.samples = 3,
                                  .length = 70,
                                  .heads = 2,
                                  .head_width = 12,
                                  .causal = false,
                                  .biased = true,
                                  .counted = true,
                                  .divide_by = 1});
  check<TypeParam>(shape);
}

TYPED_TEST(Attention, DoesNotDependOnPadding) {
  using T = TypeParam;
  AttentionCase shape = featured({.samples = 4,
                                  .length = 20,
                                  .heads = 2,
                                  .head_width = 12,
                                  .keys = 150,
                                  .causal = false,
                                  .biased = true,
                                  .counted = true});
  shape.counts = {150, 0, 1, 77};
  Pair<T> pair(shape);
  const auto expected = testing::run_pair(shape, pair.q, pair.kv, pair.dy);
  // A library may read it and multiply it by zero, which leaves nothing of a number.
  const T other = testing::by_library<T>() ? T(1000.0f) : testing::poisoned<T>(1)[0];
  for (int64_t row = 0; row < shape.key_rows(); ++row)
    if (row % 150 >= shape.counts[size_t(row / 150)])
      std::fill_n(pair.kv.begin() + row * 2 * shape.width(), 2 * shape.width(), other);
  const auto got = testing::run_pair(shape, pair.q, pair.kv, pair.dy);
  EXPECT_TRUE(same_bits(got.y, expected.y));
  EXPECT_TRUE(same_bits(got.dq, expected.dq));
  EXPECT_TRUE(same_bits(got.dkv, expected.dkv));
  EXPECT_TRUE(same_bits(got.dbias, expected.dbias));
  const int64_t numel = 20 * shape.width();
  for (int64_t i = numel; i < 2 * numel; ++i) {
    EXPECT_EQ(float(got.y[size_t(i)]), 0.0f) << "a query without any key";
    EXPECT_EQ(float(got.dq[size_t(i)]), 0.0f);
  }
  for (int64_t row = 0; row < shape.key_rows(); ++row)
    for (int64_t j = 0; row % 150 >= shape.counts[size_t(row / 150)] && j < 2 * shape.width(); ++j)
      EXPECT_EQ(float(got.dkv[size_t(row * 2 * shape.width() + j)]), 0.0f);
}

TYPED_TEST(Attention, WithWholeCountsHasTheBitsOfNone) {
  AttentionCase shape =
      featured({.samples = 2, .length = 150, .heads = 2, .head_width = 12, .causal = false});
  const Pair<TypeParam> pair(shape);
  const auto expected = testing::run_pair(shape, pair.q, pair.kv, pair.dy);
  shape.extents.counted = true;
  shape.counts = {150, 150};
  const auto got = testing::run_pair(shape, pair.q, pair.kv, pair.dy);
  EXPECT_TRUE(same_bits(got.y, expected.y));
  EXPECT_TRUE(same_bits(got.dq, expected.dq));
  EXPECT_TRUE(same_bits(got.dkv, expected.dkv));
}

TYPED_TEST(Attention, OfTwoTextsGivesTheSameBitsForAnyThreads) {
  AttentionCase shape = featured({.samples = 5,
                                  .length = 140,
                                  .heads = 3,
                                  .head_width = 20,
                                  .keys = 290,
                                  .causal = false,
                                  .biased = true,
                                  .counted = true});
  shape.site.probability = 0.1f;
  const Pair<TypeParam> pair(shape);
  const auto first = testing::run_pair(shape, pair.q, pair.kv, pair.dy, 1);
  for (int threads : {2, 3}) {
    const auto other = testing::run_pair(shape, pair.q, pair.kv, pair.dy, threads);
    EXPECT_TRUE(same_bits(first.y, other.y));
    EXPECT_TRUE(same_bits(first.logsumexp, other.logsumexp));
    EXPECT_TRUE(same_bits(first.dq, other.dq));
    EXPECT_TRUE(same_bits(first.dkv, other.dkv));
    EXPECT_TRUE(same_bits(first.dbias, other.dbias));
  }
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

TEST(AttentionRefusal, NamesWhatDoesNotFit) {
  AttentionCase shape{
      .extents = {.samples = 1, .length = 4, .heads = 1, .head_width = 4, .keys = 5}};
  const auto q = sixteenths<float>(16, 1), kv = sixteenths<float>(40, 3);
  EXPECT_THROW(testing::run_pair(shape, q, kv, q), Error) << "causal, with a key too many";
  shape.extents.causal = false;
  EXPECT_NO_THROW(testing::run_pair(shape, q, kv, q));
}

}  // namespace
}  // namespace zero::kernels
