// Ranks: 1
// Attention with caches of several texts and of sources.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/attention_reference.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace {

using testing::poisoned;
using testing_support::expect_refused_on_host;

constexpr int64_t kHeads = 3, kHeadWidth = 10, kWidth = kHeads * kHeadWidth;

/// Caches, and chunks that go on from them. Rows of q, k and v are made of a row's source and
/// position alone.
template <class T>
class Caches {
 public:
  explicit Caches(const CachedAttentionExtents& of)
      : of_(of), cache_(size_t(of.caches * 2 * kWidth * of.columns)) {
    if (of.reach > 0) bias_ = noise<float>(kHeads * (2 * of.reach - 1), 9);
  }

  std::vector<T> run(const std::vector<ChunkRow>& rows, const std::vector<CacheMove>& moves = {}) {
    Stream stream(2);
    of_.rows = int64_t(rows.size()) + 1;
    const std::vector<T> qkv = qkv_of(rows);
    auto y = poisoned<T>(of_.rows * kWidth);
    auto scratch = poisoned<int64_t>(cached_attention_scratch_bytes(of_, stream.threads()) / 8 + 1);
    const DecodeInputs inputs{.rows = int64_t(rows.size()), .moves = int64_t(moves.size())};
    CachedAttentionArrays<T> arrays{.rows = rows.data(),
                                    .moves = moves.data(),
                                    .q = qkv.data(),
                                    .q_stride = 3 * kWidth,
                                    .bias = bias_.data(),
                                    .cache = cache_.data(),
                                    .y = y.data(),
                                    .scratch = scratch.data()};
    if (of_.keys != CachedKeys::source) arrays.stored = stored(qkv);
    cached_attention<T>(stream, of_, &inputs, arrays);
    stream.wait();
    EXPECT_EQ(scratch.back(), -1);
    y.resize(size_t(kWidth) * rows.size());
    return y;
  }

  void store(const std::vector<ChunkRow>& rows) {
    Stream stream(2);
    of_.rows = int64_t(rows.size());
    const std::vector<T> qkv = qkv_of(rows);
    const DecodeInputs inputs{.rows = of_.rows};
    CachedAttentionExtents all = of_;
    all.keys = CachedKeys::all;
    store_keys<T>(stream, all, &inputs,
                  {.rows = rows.data(),
                   .q = nullptr,
                   .q_stride = 0,
                   .stored = stored(qkv),
                   .cache = cache_.data(),
                   .y = nullptr,
                   .scratch = nullptr});
    stream.wait();
  }

  const std::vector<float>& bias() const { return bias_; }

  static std::vector<T> qkv_of(const std::vector<ChunkRow>& rows) {
    std::vector<T> all;
    for (const ChunkRow& row : rows) {
      const auto one = noise<T>(3 * kWidth, uint64_t(1 + row.source * 1000 + row.position));
      all.insert(all.end(), one.begin(), one.end());
    }
    all.resize(all.size() + size_t(3 * kWidth));  // padding
    return all;
  }

 private:
  static NewKeys<T> stored(const std::vector<T>& qkv) {
    return {qkv.data() + kWidth, qkv.data() + 2 * kWidth, 3 * kWidth};
  }

  CachedAttentionExtents of_;
  std::vector<T> cache_;
  std::vector<float> bias_;
};

CachedAttentionExtents cache_extents(int64_t context, int64_t caches) {
  return {.rows = 0,
          .heads = kHeads,
          .head_width = kHeadWidth,
          .columns = cache_columns(context),
          .caches = caches};
}

/// Tokens [begin, end) of a text, or of a source of `keys` tokens.
std::vector<ChunkRow> tokens(int32_t text, int32_t begin, int32_t end, int32_t keys = 0) {
  std::vector<ChunkRow> rows;
  for (int32_t i = begin; i < end; ++i)
    rows.push_back({.text = text, .position = i, .source = text, .source_keys = keys});
  return rows;
}

template <class T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Rows [begin, end) of y.
template <class T>
std::vector<T> part(const std::vector<T>& y, int64_t begin, int64_t end) {
  return {y.begin() + begin * kWidth, y.begin() + end * kWidth};
}

template <class T>
class CachedTexts : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(CachedTexts, Elements);

TYPED_TEST(CachedTexts, OfSeveralLengthsInOneChunkHaveTheBitsThatEachHasAlone) {
  Caches<TypeParam> alone(cache_extents(100, 1)), both(cache_extents(100, 2));
  const auto first = alone.run(tokens(0, 0, 70));
  const auto rows = joined(tokens(0, 0, 70), tokens(1, 0, 3));
  const auto together = both.run(rows);
  EXPECT_TRUE(same_bits(part(together, 0, 70), first));
  const auto last = joined(tokens(1, 3, 4), tokens(0, 70, 71));
  const auto next = both.run(last);
  EXPECT_TRUE(same_bits(part(next, 1, 2), alone.run(tokens(0, 70, 71))));
}

TYPED_TEST(CachedTexts, GoOnFromTokensThatHaveMoved) {
  // Text 1 becomes text 0, part by part and across two panels; then both have the same next token.
  Caches<TypeParam> alone(cache_extents(130, 1)), both(cache_extents(130, 2));
  alone.run(tokens(0, 0, 80));
  both.run(joined(tokens(0, 0, 80), tokens(1, 0, 80)));
  const auto expected = alone.run({{.text = 0, .position = 80, .source = 0}});
  const ChunkRow next{.text = 1, .position = 80, .source = 0};
  const auto partly = both.run({next}, {{.from = 0, .to = 1, .begin = 2, .end = 63}});
  EXPECT_FALSE(same_bits(partly, expected));
  both.run({next}, {{.from = 0, .to = 1, .begin = 63, .end = 80}});
  EXPECT_TRUE(same_bits(both.run({next}, {{.from = 0, .to = 1, .begin = 0, .end = 2}}), expected));
}

TYPED_TEST(CachedTexts, OfARingHaveTheBitsOfACacheOfTheWholeText) {
  constexpr int32_t kLength = 700;
  // Rows of a chunk, of which the last is padding.
  for (const auto& [window, most] :
       {std::pair<int64_t, int32_t>{1, 64}, {50, 15}, {65, 64}, {63, 2}, {100, 29}, {190, 3}}) {
    CachedAttentionExtents of = cache_extents(kLength, 1);
    of.window = window;
    of.cap = window == 50 ? 1.5f : 0.0f;
    Caches<TypeParam> whole(of);
    of.columns = cache_columns(window + most - 1);
    of.is_ring = true;
    ASSERT_LT(of.columns, 256);
    Caches<TypeParam> ring(of);
    int32_t rows = 1;
    for (int32_t done = 0; done < kLength; done += rows, rows = rows * 7 % (most - 1) + 1) {
      const auto next = tokens(0, done, std::min(done + rows, kLength));
      ASSERT_TRUE(same_bits(ring.run(next), whole.run(next)))
          << "window " << window << ", " << rows << " rows from " << done << " on";
    }
  }
}

TYPED_TEST(CachedTexts, RefuseARingThatForgetsWhatItsRowsSee) {
  CachedAttentionExtents of = cache_extents(1, 1);
  of.window = 60;
  of.is_ring = true;
  EXPECT_NO_THROW(Caches<TypeParam>(of).run(tokens(0, 0, 4)));
  EXPECT_THROW(Caches<TypeParam>(of).run(tokens(0, 0, 5)), Error);
  of.window = 0;
  EXPECT_THROW(Caches<TypeParam>(of).run(tokens(0, 0, 4)), Error);
}

TYPED_TEST(CachedTexts, OfARingGoOnFromTokensThatHaveMoved) {
  CachedAttentionExtents of = cache_extents(300, 1);
  of.window = 60;
  Caches<TypeParam> alone(of);
  of.columns = 128;
  of.caches = 2;
  of.is_ring = true;
  Caches<TypeParam> both(of);
  for (int32_t begin = 0; begin < 210; begin += 30) {
    alone.run(tokens(0, begin, begin + 30));
    both.run(joined(tokens(0, begin, begin + 30), tokens(1, begin, begin + 30)));
  }
  const auto expected = alone.run({{.text = 0, .position = 210, .source = 0}});
  const ChunkRow next{.text = 1, .position = 210, .source = 0};
  EXPECT_FALSE(same_bits(both.run({next}), expected));
  const auto partly = both.run({next}, {{.from = 0, .to = 1, .begin = 180, .end = 210}});
  EXPECT_FALSE(same_bits(partly, expected));
  EXPECT_TRUE(same_bits(both.run({next}, {{.from = 0, .to = 1, .begin = 0, .end = 210}}), expected))
      << "also of tokens that the ring has lost";
}

/// What double loops make of the rows that tokens() has: an encoder's, with a bias.
TYPED_TEST(CachedTexts, AnEncoderSeesAllOfItsSourceUnderABias) {
  constexpr int64_t kLength = 70;
  CachedAttentionExtents of = cache_extents(kLength, 2);
  of.keys = CachedKeys::all;
  of.divide_by = 1;
  of.reach = kLength;
  Caches<TypeParam> caches(of);
  const auto rows = joined(tokens(1, 0, 3, 3), tokens(0, 0, kLength, kLength));
  const auto y = caches.run(rows);
  testing::AttentionCase shape{.extents = {.samples = 1,
                                           .length = kLength,
                                           .heads = kHeads,
                                           .head_width = kHeadWidth,
                                           .causal = false,
                                           .biased = true,
                                           .divide_by = 1}};
  shape.bias = caches.bias();
  auto qkv = Caches<TypeParam>::qkv_of(tokens(0, 0, kLength));
  qkv.resize(size_t(kLength * 3 * kWidth));
  const auto expected = testing::attention_reference(shape, testing::doubles(qkv),
                                                     std::vector<double>(size_t(kLength * kWidth)));
  EXPECT_LT(relative_error(part(y, 3, 3 + kLength), expected.y),
            2 * testing::rounding<TypeParam>() + 1e-5);
}

TYPED_TEST(CachedTexts, SeeTheirSourceWhoseKeysAreStoredOnce) {
  CachedAttentionExtents of = cache_extents(70, 2);
  of.keys = CachedKeys::source;
  Caches<TypeParam> caches(of);
  caches.store(joined(tokens(1, 0, 66, 66), tokens(0, 0, 5, 5)));
  const ChunkRow first{.text = 7, .position = 3, .source = 1, .source_keys = 66};
  const ChunkRow second{.text = 9, .position = 0, .source = 0, .source_keys = 5};
  const auto y = caches.run({first, second, first});
  EXPECT_TRUE(same_bits(part(y, 0, 1), part(y, 2, 3)));
  testing::AttentionCase shape{.extents = {.samples = 1,
                                           .length = 1,
                                           .heads = kHeads,
                                           .head_width = kHeadWidth,
                                           .keys = 5,
                                           .causal = false}};
  const auto of_source = testing::doubles(Caches<TypeParam>::qkv_of(tokens(0, 0, 5)));
  const auto of_text = testing::doubles(Caches<TypeParam>::qkv_of({second}));
  const auto third = [](const std::vector<double>& qkv, int64_t rows, int64_t which) {
    auto all = testing::part_of_rows(qkv, kWidth, 3, which);
    all.resize(size_t(rows * kWidth));
    return all;
  };
  const auto expected = testing::attention_reference(
      shape, {.q = third(of_text, 1, 0), .k = third(of_source, 5, 1), .v = third(of_source, 5, 2)},
      std::vector<double>(size_t(kWidth)));
  EXPECT_LT(relative_error(part(y, 1, 2), expected.y), 2 * testing::rounding<TypeParam>() + 1e-5);
}

TEST(CachedTextsRoom, IsThatOfTheCachesTheBiasAndTheSources) {
  Caches<float> caches(cache_extents(64, 2));
  EXPECT_NO_THROW(caches.run(tokens(1, 0, 64)));
  expect_refused_on_host([&] { caches.run(tokens(1, 64, 65)); });
  expect_refused_on_host([&] { caches.run(tokens(2, 0, 1)); });
  expect_refused_on_host([&] { caches.run(tokens(-1, 0, 1)); });
  expect_refused_on_host(
      [&] { caches.run(tokens(0, 0, 1), {{.from = 0, .to = 2, .begin = 0, .end = 1}}); });
  expect_refused_on_host(
      [&] { caches.run(tokens(0, 0, 1), {{.from = 0, .to = 1, .begin = 0, .end = 65}}); });
  CachedAttentionExtents of = cache_extents(64, 1);
  of.reach = 10;
  expect_refused_on_host([&] { Caches<float>(of).run(tokens(0, 0, 11)); });
  of.keys = CachedKeys::source;
  of.reach = 0;
  expect_refused_on_host(
      [&] { Caches<float>(of).run({{.text = 0, .position = 0, .source = 0, .source_keys = 0}}); });
  expect_refused_on_host(
      [&] { Caches<float>(of).run({{.text = 0, .position = 0, .source = 1, .source_keys = 1}}); });
}

}  // namespace
}  // namespace zero::kernels
