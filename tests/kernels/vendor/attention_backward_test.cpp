// Ranks: 1
// Attention of decoders of today, in both directions: fewer heads of keys, a window, a cap
// and first keys.

#include <gtest/gtest.h>

#include "tests/support/attention_run.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

using testing::AttentionCase;
using testing::check;
using testing::run;
using testing::sixteenths;

template <class T>
using Result = testing::AttentionResult<T>;

/// Gives each sample documents of these lengths, over and over from the front.
void pack(AttentionCase& shape, const std::vector<int64_t>& lengths) {
  shape.extents.ranged = true;
  shape.first.clear();
  for (int64_t sample = 0; sample < shape.extents.samples; ++sample) {
    size_t document = size_t(sample);
    for (int64_t begin = 0; begin < shape.extents.length; ++document) {
      const int64_t length =
          std::min(lengths[document % lengths.size()], shape.extents.length - begin);
      shape.first.insert(shape.first.end(), size_t(length), int32_t(begin));
      begin += length;
    }
  }
}

template <class T>
class DecoderAttention : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(DecoderAttention, Elements);

TYPED_TEST(DecoderAttention, ToFewerHeadsOfKeysAgreesWithDoubleLoops) {
  for (const auto& [heads, key_heads] : {std::pair{6, 6}, {6, 3}, {6, 2}, {5, 1}})
    for (int64_t head_width : {10, 33, 64})
      for (int64_t samples : {1, 3, 9})
        check<TypeParam>({.extents = {.samples = samples,
                                      .length = samples == 1 ? 150 : 37,
                                      .heads = heads,
                                      .head_width = head_width,
                                      .key_heads = key_heads}},
                         2);
}

TYPED_TEST(DecoderAttention, OfAWindowAgreesWithDoubleLoops) {
  for (int64_t window : {1, 7, 63, 64, 65, 200, 299, 300, 1000})
    check<TypeParam>(
        {.extents = {.samples = 1, .length = 300, .heads = 2, .head_width = 10, .window = window}},
        2);
  for (int64_t window : {7, 300, 900})
    check<TypeParam>(
        {.extents = {.samples = 1, .length = 1030, .heads = 1, .head_width = 8, .window = window}});
}

TYPED_TEST(DecoderAttention, OfACapAgreesWithDoubleLoops) {
  for (float cap : {0.25f, 2.0f, 50.0f})
    check<TypeParam>({.extents = {.samples = 2,
                                  .length = 150,
                                  .heads = 2,
                                  .head_width = 24,
                                  .divide_by = 3.0f,
                                  .cap = cap}});
}

TYPED_TEST(DecoderAttention, OfDocumentsAgreesWithDoubleLoops) {
  for (const std::vector<int64_t>& lengths :
       {std::vector<int64_t>{1}, {300}, {299}, {1, 128, 3, 64, 200}, {700}}) {
    AttentionCase shape{
        .extents = {.samples = 2, .length = 300, .heads = 2, .head_width = 12, .key_heads = 1}};
    pack(shape, lengths);
    check<TypeParam>(shape, 2);
  }
  AttentionCase shape{.extents = {.samples = 1, .length = 1100, .heads = 1, .head_width = 8}};
  pack(shape, {600, 20, 400});
  check<TypeParam>(shape);
}

TYPED_TEST(DecoderAttention, OfFirstKeysThatAreNoDocumentsAgreesWithDoubleLoops) {
  AttentionCase shape{.extents = {.samples = 2, .length = 270, .heads = 1, .head_width = 9}};
  shape.extents.ranged = true;
  for (int32_t sample = 0; sample < 2; ++sample)
    for (int32_t query = 0; query < 270; ++query)
      shape.first.push_back(sample == 0 ? query / 2 : std::max(0, query - 5));
  check<TypeParam>(shape);
}

/// Everything at once; each of the features is there or not.
AttentionCase mixture(int features) {
  const bool biased = features & 1, counted = features & 2, dropped = features & 4;
  AttentionCase shape{.extents = {.samples = 3,
                                  .length = 205,
                                  .heads = 4,
                                  .head_width = 11,
                                  .biased = biased,
                                  .counted = counted,
                                  .key_heads = 2,
                                  .window = features & 8 ? 40 : 0,
                                  .cap = features & 16 ? 1.5f : 0.0f}};
  if (biased) shape.bias = sixteenths<float>(4 * shape.extents.diagonals(), 6);
  if (counted) shape.counts = {205, 77, 1};
  if (dropped && !testing::by_library<float>()) shape.site.probability = 0.25f;
  if (features & 32) pack(shape, {50, 1, 100, 30});
  return shape;
}

TYPED_TEST(DecoderAttention, AgreesWithDoubleLoopsForEveryMixtureOfFeatures) {
  for (int features = 0; features < 64; ++features) check<TypeParam>(mixture(features), 2);
}

template <class T>
void expect_same(const Result<T>& got, const Result<T>& expected) {
  EXPECT_TRUE(same_bits(got.y, expected.y));
  EXPECT_TRUE(same_bits(got.logsumexp, expected.logsumexp));
  EXPECT_TRUE(same_bits(got.dqkv, expected.dqkv));
}

TYPED_TEST(DecoderAttention, GivesTheSameBitsForAnyThreads) {
  for (int64_t samples : {1, 3}) {
    AttentionCase shape = mixture(63);
    shape.extents.samples = samples;
    shape.extents.counted = false;
    shape.counts.clear();
    pack(shape, {50, 1, 100, 30});
    const auto qkv = sixteenths<TypeParam>(shape.rows() * shape.packed_width(), 1);
    const auto dy = sixteenths<TypeParam>(shape.rows() * shape.width(), 2);
    const Result<TypeParam> first = run(shape, qkv, dy, 1);
    for (int threads : {2, 3}) expect_same(run(shape, qkv, dy, threads), first);
  }
}

TYPED_TEST(DecoderAttention, OfAWideWindowOrFirstKeysOfZeroHasTheBitsOfNone) {
  AttentionCase shape{.extents = {.samples = 2, .length = 300, .heads = 2, .head_width = 12}};
  shape.site.probability = testing::by_library<TypeParam>() ? 0.0f : 0.1f;
  const auto qkv = sixteenths<TypeParam>(shape.rows() * shape.packed_width(), 1);
  const auto dy = sixteenths<TypeParam>(shape.rows() * shape.width(), 2);
  const Result<TypeParam> expected = run(shape, qkv, dy);
  shape.extents.window = 300;
  expect_same(run(shape, qkv, dy), expected);
  shape.extents.window = 299;
  EXPECT_FALSE(same_bits(run(shape, qkv, dy).y, expected.y)) << "one key fewer for the last query";
  shape.extents.window = 0;
  pack(shape, {300});
  expect_same(run(shape, qkv, dy), expected);
}

TYPED_TEST(DecoderAttention, ToFewerHeadsOfKeysIsThatToCopiesWhoseGradientsAdd) {
  AttentionCase few{
      .extents = {.samples = 1, .length = 140, .heads = 4, .head_width = 8, .key_heads = 2}};
  AttentionCase all = few;
  all.extents.key_heads = 4;
  const auto qkv = sixteenths<TypeParam>(few.rows() * few.packed_width(), 1);
  const auto dy = sixteenths<TypeParam>(few.rows() * few.width(), 2);
  std::vector<TypeParam> copied;
  for (int64_t row = 0; row < few.rows(); ++row) {
    const auto from = qkv.begin() + row * 8 * 8;
    copied.insert(copied.end(), from, from + 4 * 8);
    for (int64_t head : {4, 4, 5, 5, 6, 6, 7, 7})
      copied.insert(copied.end(), from + head * 8, from + (head + 1) * 8);
  }
  const Result<TypeParam> got = run(few, qkv, dy), other = run(all, copied, dy);
  EXPECT_TRUE(same_bits(got.y, other.y));
  std::vector<double> sums;
  for (int64_t row = 0; row < few.rows(); ++row) {
    const auto from = other.dqkv.begin() + row * 12 * 8;
    for (int64_t j = 0; j < 4 * 8; ++j) sums.push_back(double(float(from[j])));
    for (int64_t head : {4, 6, 8, 10})
      for (int64_t j = 0; j < 8; ++j)
        sums.push_back(double(float(from[head * 8 + j])) + double(float(from[(head + 1) * 8 + j])));
  }
  EXPECT_LT(relative_error(got.dqkv, sums), 2 * testing::rounding<TypeParam>() + 1e-6);
}

TYPED_TEST(DecoderAttention, OfAPackedRowIsThatOfItsDocuments) {
  const std::vector<int64_t> lengths = {130, 1, 69, 200};
  AttentionCase shape{
      .extents = {.samples = 1, .length = 400, .heads = 2, .head_width = 16, .key_heads = 1}};
  pack(shape, lengths);
  const int64_t packed = shape.packed_width(), width = shape.width();
  const auto qkv = sixteenths<TypeParam>(400 * packed, 1),
             dy = sixteenths<TypeParam>(400 * width, 2);
  const Result<TypeParam> row = run(shape, qkv, dy);
  std::vector<double> y, dqkv;
  for (int64_t begin = 0; const int64_t length : lengths) {
    AttentionCase alone = shape;
    alone.extents.length = length;
    alone.extents.ranged = false;
    alone.first.clear();
    const Result<TypeParam> one = run<TypeParam>(
        alone, {qkv.begin() + begin * packed, qkv.begin() + (begin + length) * packed},
        {dy.begin() + begin * width, dy.begin() + (begin + length) * width});
    for (const TypeParam& value : one.y) y.push_back(double(float(value)));
    for (const TypeParam& value : one.dqkv) dqkv.push_back(double(float(value)));
    begin += length;
  }
  EXPECT_LT(relative_error(row.y, y), testing::rounding<TypeParam>() + 1e-6);
  EXPECT_LT(relative_error(row.dqkv, dqkv), testing::rounding<TypeParam>() + 1e-6);
}

TYPED_TEST(DecoderAttention, DropsTheProbabilitiesThatPhiloxNamesUnderAWindow) {
  if (testing::by_library<TypeParam>()) GTEST_SKIP() << "masks are those of a library";
  AttentionCase shape{
      .extents = {
          .samples = 2, .length = 300, .heads = 3, .head_width = 12, .key_heads = 1, .window = 77}};
  shape.site.probability = 0.5f;
  check<TypeParam>(shape, 2);
}

TEST(DecoderAttentionRefusal, NamesWhatDoesNotFit) {
  const AttentionCase good{.extents = {.samples = 1,
                                       .length = 6,
                                       .heads = 4,
                                       .head_width = 2,
                                       .key_heads = 2,
                                       .window = 3,
                                       .cap = 2.0f}};
  const auto qkv = sixteenths<float>(6 * 24, 1), dy = sixteenths<float>(6 * 8, 2);
  EXPECT_NO_THROW(run(good, qkv, dy));
  const auto refused = [&](const auto& change) {
    AttentionCase bad = good;
    change(bad);
    EXPECT_THROW(run(bad, qkv, dy), Error);
  };
  refused([](AttentionCase& bad) { bad.extents.key_heads = 3; });
  refused([](AttentionCase& bad) { bad.extents.window = -1; });
  refused([](AttentionCase& bad) { bad.extents.cap = -1.0f; });
  refused([](AttentionCase& bad) { bad.extents.causal = false; });
}

TEST(DecoderAttentionRefusal, NamesFirstKeysThatAreNone) {
  AttentionCase shape{.extents = {.samples = 2, .length = 3, .heads = 1, .head_width = 2}};
  const auto qkv = sixteenths<float>(6 * 6, 1), dy = sixteenths<float>(6 * 2, 2);
  shape.extents.ranged = true;
  const auto with = [&](const std::vector<int32_t>& first) {
    shape.first = first;
    run(shape, qkv, dy);
  };
  EXPECT_NO_THROW(with({0, 0, 2, 0, 1, 1}));
  const std::vector<int32_t> behind = {0, 0, 3, 0, 1, 1}, falling = {0, 1, 0, 0, 1, 1},
                             negative = {0, 0, 2, -1, 0, 0};
  for (const std::vector<int32_t>& bad : {behind, falling, negative})
    testing_support::expect_refused_on_host([&] { with(bad); });
}

}  // namespace
}  // namespace zero::kernels
