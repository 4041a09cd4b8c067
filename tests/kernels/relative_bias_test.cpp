// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/arrays.hpp"
#include "tests/support/device_array.hpp"
#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::kernels {
namespace {

RelativeBiasExtents encoder(int64_t queries = 9, int64_t keys = 9) {
  return {.queries = queries,
          .keys = keys,
          .buckets = 32,
          .heads = 3,
          .max_distance = 128,
          .bidirectional = true};
}

RelativeBiasExtents decoder(int64_t queries = 9, int64_t keys = 9) {
  RelativeBiasExtents extents = encoder(queries, keys);
  extents.bidirectional = false;
  return extents;
}

/// The formula in double precision. Powers of two begin a bucket exactly, so a logarithm's last bit
/// must not decide there.
int64_t bucket_of(const RelativeBiasExtents& extents, int64_t relative) {
  const int64_t side = extents.bidirectional ? extents.buckets / 2 : extents.buckets;
  const int64_t base = extents.bidirectional && relative > 0 ? side : 0;
  const int64_t distance =
      extents.bidirectional ? std::abs(relative) : std::max<int64_t>(-relative, 0);
  const int64_t exact = side / 2;
  if (distance < exact) return base + distance;
  const double share = std::log(double(distance) / double(exact)) /
                       std::log(double(extents.max_distance) / double(exact));
  const auto more = int64_t(std::floor(share * double(side - exact) + 1e-9));
  return base + std::min(exact + more, side - 1);
}

TEST(RelativeBucket, IsThatOfKnownDistances) {
  const std::vector<std::pair<int64_t, int64_t>> both{
      {0, 0},    {-1, 1},   {-7, 7},   {-8, 8},   {-11, 8},   {-12, 9},   {-15, 9},
      {-16, 10}, {-22, 10}, {-23, 11}, {-31, 11}, {-32, 12},  {-45, 12},  {-46, 13},
      {-63, 13}, {-64, 14}, {-90, 14}, {-91, 15}, {-127, 15}, {-128, 15}, {-600, 15},
      {1, 17},   {7, 23},   {8, 24},   {16, 26},  {64, 30},   {91, 31},   {600, 31}};
  for (const auto& [relative, bucket] : both)
    EXPECT_EQ(relative_bucket(encoder(), relative), bucket) << relative;
  const std::vector<std::pair<int64_t, int64_t>> one{
      {5, 0},    {1, 0},    {0, 0},     {-1, 1},    {-15, 15},  {-16, 16},  {-18, 16}, {-19, 17},
      {-32, 21}, {-64, 26}, {-112, 30}, {-113, 31}, {-127, 31}, {-128, 31}, {-600, 31}};
  for (const auto& [relative, bucket] : one)
    EXPECT_EQ(relative_bucket(decoder(), relative), bucket) << relative;
}

TEST(RelativeBucket, IsThatOfTheFormulaForSixHundredDistancesBothWays) {
  for (const RelativeBiasExtents& extents : {encoder(), decoder()})
    for (int64_t relative = -600; relative <= 600; ++relative)
      EXPECT_EQ(relative_bucket(extents, relative), bucket_of(extents, relative)) << relative;
}

template <class T>
class RelativeBias : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(RelativeBias, Elements);

TYPED_TEST(RelativeBias, IsTheTablesRowOfEachDiagonal) {
  for (const RelativeBiasExtents& extents :
       {encoder(5, 5), decoder(700, 700), encoder(600, 400), encoder(1, 300), decoder(300, 1)}) {
    Stream stream(2);
    adopt_threads(stream);
    const auto table = testing::noise<TypeParam>(extents.buckets * extents.heads, 1);
    const testing::DeviceArray<TypeParam> there(table);
    const auto bias = testing::DeviceArray<float>::of_outputs(extents.heads * extents.diagonals());
    relative_bias<TypeParam>(stream, extents, there.data(), bias.data());
    stream.wait();
    const std::vector<float> got = bias.values();
    for (int64_t i = 0; i < int64_t(got.size()); ++i) {
      const int64_t head = i / extents.diagonals(), diagonal = i % extents.diagonals();
      const int64_t bucket = bucket_of(extents, diagonal - (extents.queries - 1));
      ASSERT_EQ(got[size_t(i)], float(table[size_t(bucket * extents.heads + head)])) << i;
    }
  }
}

TYPED_TEST(RelativeBias, GradientIsTheSumOverTheDiagonalsOfABucket) {
  for (const RelativeBiasExtents& extents :
       {encoder(5, 5), decoder(700, 700), encoder(600, 400), encoder(1, 300), decoder(300, 1)}) {
    Stream stream(2);
    adopt_threads(stream);
    const auto dbias = testing::noise<float>(extents.heads * extents.diagonals(), 2);
    std::vector<double> expected(size_t(extents.buckets * extents.heads));
    for (int64_t i = 0; i < int64_t(dbias.size()); ++i) {
      const int64_t head = i / extents.diagonals(), diagonal = i % extents.diagonals();
      const int64_t bucket = bucket_of(extents, diagonal - (extents.queries - 1));
      expected[size_t(bucket * extents.heads + head)] += double(dbias[size_t(i)]);
    }
    const testing::DeviceArray<float> there(dbias);
    const auto dtable =
        testing::DeviceArray<TypeParam>::of_outputs(extents.buckets * extents.heads);
    relative_bias_backward<TypeParam>(stream, extents, there.data(), dtable.data());
    stream.wait();
    EXPECT_LT(testing::relative_error(dtable.values(), expected),
              testing::rounding<TypeParam>() + 1e-6);
  }
}

TEST(RelativeBiasRefusal, NamesBucketsThatDoNotSplit) {
  RelativeBiasExtents extents = encoder();
  extents.buckets = 30;
  EXPECT_THROW(relative_bucket(extents, 1), Error);
  extents.buckets = 32;
  extents.max_distance = 8;
  EXPECT_THROW(relative_bucket(extents, 1), Error);
  extents.max_distance = 9;
  EXPECT_EQ(relative_bucket(extents, 9), 31);
  extents.buckets = 2 * kRelativeBucketsMost;
  EXPECT_THROW(relative_bucket(extents, 1), Error);
}

}  // namespace
}  // namespace zero::kernels
