// Ranks: 1

#include "zero/kernels/disentangled.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/device_array.hpp"
#include "tests/support/disentangled_reference.hpp"
#include "tests/support/golden.hpp"
#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {
namespace {

using testing::DeviceArray;
using testing::DisentangledCase;
using testing::DisentangledNoise;
using testing::relative_error;
using testing::same_bits;

constexpr DistanceTable kPublished{.buckets = 256, .most_distance = 512};
constexpr DistanceTable kShort{.buckets = 8, .most_distance = 30};
constexpr DistanceTable kSteep{.buckets = 8, .most_distance = 6};  // skips rows
constexpr DistanceTable kEach{.buckets = 0, .most_distance = 300};

template <class T>
using Result = testing::DisentangledResult<T>;

/// Both directions, with outputs and scratch poisoned.
template <class T>
Result<T> run_disentangled(const DisentangledCase& shape, const DisentangledNoise<T>& in,
                           int threads = 1) {
  Stream stream(threads);
  adopt_threads(stream);
  const DisentangledExtents& extents = shape.extents;
  const int64_t tokens = shape.rows() * shape.width(), positions = extents.rows() * shape.width();
  const int64_t bytes = disentangled_scratch_bytes(extents, dtype_of<T>(), threads);
  const DeviceArray<T> q(in.q), k(in.k), v(in.v), dy(in.dy);
  const DeviceArray<T> keys(in.position_keys), queries(in.position_queries);
  const DeviceArray<int32_t> counts(shape.counts);
  const auto y = DeviceArray<T>::of_outputs(tokens), dq = DeviceArray<T>::of_outputs(tokens);
  const auto dk = DeviceArray<T>::of_outputs(tokens), dv = DeviceArray<T>::of_outputs(tokens);
  const auto dkeys = DeviceArray<T>::of_outputs(positions);
  const auto dqueries = DeviceArray<T>::of_outputs(positions);
  const auto logsumexp = DeviceArray<float>::of_outputs(shape.rows() * extents.heads);
  const auto scratch = DeviceArray<int64_t>::of_outputs(ceil_div<int64_t>(bytes, 8) + 1);
  const testing::AttentionCase plain = shape.plain();
  const DeviceArray<StepInputs> inputs({plain.inputs});
  const AttentionInputs<T> tokens_in{.q = q.data(),
                                     .k = k.data(),
                                     .v = v.data(),
                                     .q_stride = shape.width(),
                                     .kv_stride = shape.width(),
                                     .key_counts = extents.counted ? counts.data() : nullptr};
  const PositionRows<const T> rows{keys.data(), queries.data()};
  disentangled_attention<T>(stream, extents, plain.site, inputs.data(),
                            {tokens_in, rows, y.data(), logsumexp.data(), scratch.data()});
  stream.wait();
  disentangled_attention_backward<T>(stream, extents, plain.site, inputs.data(),
                                     {.in = tokens_in,
                                      .positions = rows,
                                      .dy = dy.data(),
                                      .y = y.data(),
                                      .logsumexp = logsumexp.data(),
                                      .dq = dq.data(),
                                      .dk = dk.data(),
                                      .dv = dv.data(),
                                      .dpositions = {dkeys.data(), dqueries.data()},
                                      .scratch = scratch.data()});
  stream.wait();
  EXPECT_EQ(scratch.values().back(), -1) << "written behind the scratch";
  return {y.values(),     dq.values(),       dk.values(),       dv.values(),
          dkeys.values(), dqueries.values(), logsumexp.values()};
}

template <class T>
void check(const DisentangledCase& shape, int threads = 1) {
  SCOPED_TRACE(text(name_of(dtype_of<T>()), " ", shape.extents.samples, " samples of ",
                    shape.extents.length, ", ", shape.extents.heads, " heads of ",
                    shape.extents.head_width, ", ", shape.extents.table.buckets, " buckets to ",
                    shape.extents.table.most_distance));
  const DisentangledNoise<T> in(shape);
  const testing::DisentangledReference expected = in.reference(shape);
  const Result<T> got = run_disentangled(shape, in, threads);
  // Sums along diagonals are rounded to T before their products.
  const double bound = 3 * testing::rounding<T>() + 2e-6;
  EXPECT_LT(relative_error(got.y, expected.y), bound);
  EXPECT_LT(relative_error(got.logsumexp, expected.logsumexp), 4 * 0x1p-23);
  EXPECT_LT(relative_error(got.dq, expected.gradient.q), bound);
  EXPECT_LT(relative_error(got.dk, expected.gradient.k), bound);
  EXPECT_LT(relative_error(got.dv, expected.gradient.v), bound);
  EXPECT_LT(relative_error(got.dposition_keys, expected.gradient.position_keys), bound);
  EXPECT_LT(relative_error(got.dposition_queries, expected.gradient.position_queries), bound);
}

template <class T>
class Disentangled : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Disentangled, Elements);

TYPED_TEST(Disentangled, AgreesWithDoubleLoopsForAnyLength) {
  for (int64_t length : {1, 2, 15, 16, 17, 63, 128, 129, 200})
    check<TypeParam>(
        {.extents = {
             .samples = 2, .length = length, .heads = 2, .head_width = 8, .table = kPublished}});
}

TYPED_TEST(Disentangled, AgreesWithDoubleLoopsForAnyHeadWidth) {
  for (int64_t head_width : {1, 10, 64, 100})
    check<TypeParam>({.extents = {.samples = 1,
                                  .length = 37,
                                  .heads = 3,
                                  .head_width = head_width,
                                  .table = kPublished}});
}

TYPED_TEST(Disentangled, AgreesWithDoubleLoopsForAnyTableOfDistances) {
  for (const DistanceTable& table : {kShort, kSteep, kEach, DistanceTable{0, 5}})
    check<TypeParam>(
        {.extents = {.samples = 2, .length = 75, .heads = 2, .head_width = 12, .table = table}});
}

TYPED_TEST(Disentangled, OfManyDistancesInABucketAgreesWithDoubleLoops) {
  check<TypeParam>(
      {.extents = {.samples = 1, .length = 570, .heads = 1, .head_width = 8, .table = kPublished}},
      2);
}

TYPED_TEST(Disentangled, SkipsPaddingByCounts) {
  DisentangledCase shape{.extents = {.samples = 6,
                                     .length = 150,
                                     .heads = 2,
                                     .head_width = 12,
                                     .table = kPublished,
                                     .counted = true},
                         .counts = {150, 1, 64, 65, 0, 129}};
  check<TypeParam>(shape, 2);
  shape.extents.table = kSteep;
  check<TypeParam>(shape);
  const DisentangledNoise<TypeParam> in(shape);
  const Result<TypeParam> got = run_disentangled(shape, in);
  for (int64_t row = 0; row < shape.rows(); ++row) {
    if (row % 150 < shape.counts[size_t(row / 150)]) continue;
    for (const auto* array : {&got.y, &got.dq, &got.dk, &got.dv})
      for (int64_t j = 0; j < shape.width(); ++j)
        ASSERT_EQ(float((*array)[size_t(row * shape.width() + j)]), 0.0f) << row;
  }
}

TYPED_TEST(Disentangled, DropsTheProbabilitiesThatPlainAttentionDrops) {
  DisentangledCase shape{.extents = {.samples = 2,
                                     .length = 133,
                                     .heads = 2,
                                     .head_width = 12,
                                     .table = kShort,
                                     .counted = true},
                         .dropout = 0.25f,
                         .counts = {133, 70}};
  check<TypeParam>(shape, 2);
}

TYPED_TEST(Disentangled, GivesTheSameBitsForAnyThreadsAndFromFourRanksAtOnce) {
  DisentangledCase shape{.extents = {.samples = 5,
                                     .length = 140,
                                     .heads = 3,
                                     .head_width = 20,
                                     .table = kPublished,
                                     .counted = true},
                         .dropout = 0.1f,
                         .counts = {140, 9, 77, 128, 140}};
  const DisentangledNoise<TypeParam> in(shape);
  const Result<TypeParam> first = run_disentangled(shape, in, 1);
  const auto expect_first = [&](const Result<TypeParam>& other) {
    EXPECT_TRUE(same_bits(first.y, other.y));
    EXPECT_TRUE(same_bits(first.dq, other.dq));
    EXPECT_TRUE(same_bits(first.dk, other.dk));
    EXPECT_TRUE(same_bits(first.dv, other.dv));
    EXPECT_TRUE(same_bits(first.dposition_keys, other.dposition_keys));
    EXPECT_TRUE(same_bits(first.dposition_queries, other.dposition_queries));
  };
  expect_first(run_disentangled(shape, in, 2));
  expect_first(run_disentangled(shape, in, 3));
  std::vector<Result<TypeParam>> others(4);
  std::vector<std::thread> ranks;
  for (auto& other : others)
    ranks.emplace_back(
        [&] { other = run_disentangled(shape, in, 1 + int(&other - others.data()) % 2); });
  for (std::thread& rank : ranks) rank.join();
  for (const auto& other : others) expect_first(other);
}

TYPED_TEST(Disentangled, WithoutPositionsIsPlainAttentionOverSmallerScores) {
  DisentangledCase shape{
      .extents = {.samples = 1, .length = 2, .heads = 1, .head_width = 1, .table = kEach}};
  DisentangledNoise<TypeParam> in(shape);
  in.q = {TypeParam(0.0f), TypeParam(0.0f)};
  in.v = {TypeParam(2.0f), TypeParam(4.0f)};
  for (auto* array : {&in.position_keys, &in.position_queries})
    array->assign(array->size(), TypeParam(0.0f));
  EXPECT_EQ(testing::doubles(run_disentangled(shape, in).y), (std::vector<double>{3, 3}));
}

TEST(DistanceBucket, IsExactNearbyAndGrowsByLogarithm) {
  EXPECT_EQ(distance_bucket(kPublished, 128), 128);
  EXPECT_EQ(distance_bucket(kPublished, -129), -129);
  EXPECT_EQ(distance_bucket(kPublished, 511), 255);
  EXPECT_EQ(distance_bucket(kPublished, -511), -255);
  EXPECT_EQ(distance_bucket(kPublished, 1023), 319);
  EXPECT_EQ(distance_row(kPublished, 1023), 511);
  EXPECT_EQ(distance_row(kPublished, -1023), 0);
  EXPECT_EQ(distance_bucket(kEach, -299), -299);
  EXPECT_EQ(distance_row(kEach, -301), 0);
}

TEST(DistanceBucket, IsHuggingFacesForAllDistancesTo1023) {
  for (const testing::GoldenBuckets& golden : testing::load_golden_buckets()) {
    const DistanceTable table{golden.buckets, golden.most_distance};
    ASSERT_EQ(golden.of_distance.size(), 1024u);
    for (int64_t distance = 0; distance < 1024; ++distance) {
      const int64_t bucket = golden.of_distance[size_t(distance)];
      ASSERT_EQ(distance_bucket(table, distance), bucket) << table.buckets << ": " << distance;
      ASSERT_EQ(distance_bucket(table, -distance), -bucket) << table.buckets << ": " << distance;
    }
  }
}

TEST(DistanceRows, AreThoseThatALengthReads) {
  EXPECT_EQ(distance_rows(kPublished, 1).first, 256);
  EXPECT_EQ(distance_rows(kPublished, 1).count, 1);
  EXPECT_EQ(distance_rows(kPublished, 128).first, 129);
  EXPECT_EQ(distance_rows(kPublished, 128).count, 255);
  EXPECT_EQ(distance_rows(kPublished, 512).count, 511);
  EXPECT_EQ(distance_rows(kPublished, 1024).count, 512);
}

TEST(DisentangledRefusal, NamesTablesThatDoNotFit) {
  EXPECT_THROW(distance_bucket({.buckets = 0, .most_distance = 0}, 1), Error);
  EXPECT_THROW(distance_bucket({.buckets = 8, .most_distance = 5}, 1), Error);
  EXPECT_NO_THROW(distance_bucket({.buckets = 8, .most_distance = 6}, 1));
  EXPECT_THROW(distance_bucket({.buckets = 1, .most_distance = 6}, 1), Error);
  EXPECT_THROW(distance_bucket({.buckets = 2 * kDistanceSideMost, .most_distance = 1 << 20}, 1),
               Error);
  EXPECT_THROW(distance_rows(kPublished, 0), Error);
  DisentangledCase shape{
      .extents = {.samples = 1, .length = 4, .heads = 1, .head_width = 4, .table = kPublished}};
  const DisentangledNoise<float> in(shape);
  EXPECT_NO_THROW(run_disentangled(shape, in));
  shape.dropout = 1.0f;
  EXPECT_THROW(run_disentangled(shape, in), Error);
}

}  // namespace
}  // namespace zero::kernels
