// Ranks: 1

#include "kernels/vendor/decode_block.hpp"

#include <gtest/gtest.h>

#include "tests/support/attention_reference.hpp"
#include "tests/support/block_row.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::poisoned;

constexpr int64_t kHeads = 2, kHeadWidth = 40, kWidth = kHeads * kHeadWidth;

CachedAttentionExtents extents_of(CachedKeys keys, int64_t reach = 0) {
  return {.rows = 0,
          .heads = kHeads,
          .head_width = kHeadWidth,
          .columns = 128,
          .caches = 3,
          .keys = keys,
          .reach = reach};
}

/// A chunk of rows and one of padding, caches that hold numbers already, and what comes of them.
template <class T>
struct Chunk {
  CachedAttentionExtents extents;
  std::vector<ChunkRow> rows;
  std::vector<CacheMove> moves = {};
  std::vector<T> qkv, cache, y;
  std::vector<float> bias, scratch;

  Chunk(const CachedAttentionExtents& of, std::vector<ChunkRow> places,
        std::vector<CacheMove> copies = {})
      : extents(of),
        rows(std::move(places)),
        moves(std::move(copies)),
        cache(noise<T>(of.caches * 2 * kWidth * of.columns, 5)) {
    extents.rows = int64_t(rows.size()) + 1;
    qkv = noise<T>(extents.rows * 3 * kWidth, 1);
    y = poisoned<T>(extents.rows * kWidth + 1);
    scratch = poisoned<float>(extents.rows * kHeads * extents.columns + 1);
    if (of.reach > 0) bias = noise<float>(kHeads * (2 * of.reach - 1), 9);
  }

  CachedAttentionArrays<T> arrays() {
    const bool stores = extents.keys != CachedKeys::source;
    const T* const keys = qkv.data() + kWidth;
    return {
        .rows = rows.data(),
        .moves = moves.data(),
        .q = qkv.data(),
        .q_stride = 3 * kWidth,
        .stored = stores ? NewKeys<T>{keys, keys + extents.key_width(), 3 * kWidth} : NewKeys<T>{},
        .bias = extents.reach > 0 ? bias.data() : nullptr,
        .cache = cache.data(),
        .y = y.data(),
        .scratch = scratch.data()};
  }
  DecodeInputs inputs() const {
    return {.rows = int64_t(rows.size()), .moves = int64_t(moves.size())};
  }

  /// Thread by thread.
  Chunk& run() {
    const DecodeInputs read = inputs();
    const KeyCache<T> all{extents, &read, arrays()};
    testing::run_rows(extents.caches, MoveTokens<T>{all});
    if (all.arrays.stored.keys != nullptr)
      testing::run_elements(extents.rows * extents.key_width(), StoreTokens<T>{all});
    testing::run_rows(extents.rows * kHeads, AttendToTokens<T>(all));
    EXPECT_TRUE(same_bits({scratch.back()}, poisoned<float>(1))) << "written behind the scratch";
    EXPECT_TRUE(same_bits({y.back()}, poisoned<T>(1))) << "written behind y";
    for (int64_t i = read.rows * kWidth; i < extents.rows * kWidth; ++i)
      EXPECT_EQ(float(y[size_t(i)]), 0.0f) << "padding";
    return *this;
  }
  /// As this build has it: on the host its twin.
  Chunk& run_twin() {
    Stream stream(2);
    const DecodeInputs read = inputs();
    scratch = poisoned<float>(cached_attention_scratch_bytes(extents, stream.threads()) / 4 + 1);
    cached_attention<T>(stream, extents, &read, arrays());
    stream.wait();
    return *this;
  }
  std::vector<double> part(int64_t begin, int64_t end) const {
    return testing::doubles(std::vector<T>(y.begin() + begin * kWidth, y.begin() + end * kWidth));
  }
};

template <class T>
double bound() {
  return 2 * testing::rounding<T>() + 1e-5;
}

/// Blocks leave the caches of the twin to the bit, and agree with what it attends to.
template <class T>
void expect_twin(const Chunk<T>& chunk) {
  Chunk<T> blocks = chunk, twin = chunk;
  blocks.run();
  twin.run_twin();
  const int64_t rows = int64_t(chunk.rows.size());
  EXPECT_TRUE(same_bits(blocks.cache, twin.cache));
  EXPECT_FALSE(same_bits(blocks.cache, chunk.cache) && !chunk.moves.empty()) << "nothing has moved";
  blocks.y.resize(size_t(rows * kWidth));
  EXPECT_LT(relative_error(blocks.y, twin.part(0, rows)), bound<T>());
}

template <class T>
class CachedAttentionBlock : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(CachedAttentionBlock, Elements);

/// Beams of unlike lengths that go on from each other's tokens, across two panels and within one.
TYPED_TEST(CachedAttentionBlock, MovesStoresAndAttendsAsTheHostDoes) {
  const std::vector<CacheMove> moves = {{.from = 0, .to = 1, .begin = 3, .end = 70},
                                        {.from = 0, .to = 2, .begin = 0, .end = 5}};
  const std::vector<ChunkRow> rows = {{.text = 1, .position = 70},
                                      {.text = 0, .position = 127},
                                      {.text = 2, .position = 5},
                                      {.text = 2, .position = 6}};
  for (const int64_t reach : {0, 128}) {
    SCOPED_TRACE(::testing::Message() << "a bias of reach " << reach);
    expect_twin<TypeParam>({extents_of(CachedKeys::past, reach), rows, moves});
    expect_twin<TypeParam>({extents_of(CachedKeys::past, reach), rows});
  }
}

TYPED_TEST(CachedAttentionBlock, SharesKeysLooksBackAWindowAndCapsScoresAsTheHostDoes) {
  const std::vector<ChunkRow> rows = {{.text = 1, .position = 70},
                                      {.text = 0, .position = 127},
                                      {.text = 2, .position = 5},
                                      {.text = 2, .position = 6}};
  for (const int64_t window : {0, 1, 50, 128})
    for (const float cap : {0.0f, 1.5f}) {
      CachedAttentionExtents of = extents_of(CachedKeys::past, cap > 0 ? 128 : 0);
      of.key_heads = 1;
      of.window = window;
      of.cap = cap;
      SCOPED_TRACE(::testing::Message() << "window " << window << ", cap " << cap);
      expect_twin<TypeParam>({of, rows, {{.from = 0, .to = 1, .begin = 3, .end = 70}}});
    }
}

TYPED_TEST(CachedAttentionBlock, OfARingStoresMovesAndSeesAsTheHostDoes) {
  const std::vector<ChunkRow> rows = {{.text = 1, .position = 470},
                                      {.text = 0, .position = 127},
                                      {.text = 2, .position = 256},
                                      {.text = 2, .position = 257}};
  for (const int64_t window : {1, 50, 124}) {
    CachedAttentionExtents of = extents_of(CachedKeys::past);
    of.window = window;
    of.is_ring = true;
    SCOPED_TRACE(::testing::Message() << "window " << window);
    expect_twin<TypeParam>({of, rows, {{.from = 0, .to = 1, .begin = 3, .end = 470}}});
    expect_twin<TypeParam>({of, rows, {{.from = 0, .to = 1, .begin = 400, .end = 470}}});
  }
}

TYPED_TEST(CachedAttentionBlock, SeesAsManyKeysAsASourceHas) {
  expect_twin<TypeParam>({extents_of(CachedKeys::source),
                          {{.text = 7, .position = 3, .source = 1, .source_keys = 66},
                           {.text = 9, .position = 0, .source = 0, .source_keys = 1},
                           {.text = 0, .position = 9, .source = 2, .source_keys = 128}}});
}

TYPED_TEST(CachedAttentionBlock, OfAnEncoderAgreesWithDoubleLoopsUnderABias) {
  constexpr int32_t kLength = 67;
  std::vector<ChunkRow> rows;
  for (int32_t i = 0; i < kLength; ++i)
    rows.push_back({.text = 1, .position = i, .source = 1, .source_keys = kLength});
  CachedAttentionExtents of = extents_of(CachedKeys::all, kLength);
  of.divide_by = 1;
  Chunk<TypeParam> chunk(of, rows);
  const testing::AttentionCase shape{.extents = {.samples = 1,
                                                 .length = kLength,
                                                 .heads = kHeads,
                                                 .head_width = kHeadWidth,
                                                 .causal = false,
                                                 .biased = true,
                                                 .divide_by = 1},
                                     .bias = chunk.bias};
  auto qkv = chunk.qkv;
  qkv.resize(size_t(kLength * 3 * kWidth));
  const auto expected = testing::attention_reference(shape, testing::doubles(qkv),
                                                     std::vector<double>(size_t(kLength * kWidth)));
  chunk.run();
  EXPECT_LT(relative_error(chunk.y, expected.y), bound<TypeParam>());
  expect_twin<TypeParam>({of, rows});
}

TYPED_TEST(CachedAttentionBlock, WithoutRowsWritesZerosAndLeavesTheCaches) {
  Chunk<TypeParam> chunk(extents_of(CachedKeys::past), {});
  const auto before = chunk.cache;
  chunk.run();
  EXPECT_TRUE(same_bits(chunk.cache, before));
}

/// The host refuses these; a device cannot, and must not write elsewhere.
TYPED_TEST(CachedAttentionBlock, LeavesOutWhatDoesNotFitTheCaches) {
  Chunk<TypeParam> chunk(
      extents_of(CachedKeys::past),
      {{.text = 3, .position = 0}, {.text = -1, .position = 0}, {.text = 0, .position = -1}},
      {{.from = 0, .to = 3, .begin = 0, .end = 4}, {.from = 0, .to = 1, .begin = 100, .end = 129}});
  const auto before = chunk.cache;
  chunk.run();
  EXPECT_TRUE(same_bits(chunk.cache, before));
  for (const double value : chunk.part(0, 3)) EXPECT_EQ(value, 0.0);
  Chunk<TypeParam> sources(extents_of(CachedKeys::source),
                           {{.text = 0, .position = 0, .source = 3, .source_keys = 4},
                            {.text = 0, .position = 0, .source = 0, .source_keys = 0}});
  for (const double value : sources.run().part(0, 2)) EXPECT_EQ(value, 0.0);
}

template <class T>
struct DecodeCase {
  RowProductExtents extents;
  std::vector<T> x, weight, bias;

  explicit DecodeCase(const RowProductExtents& sizes)
      : extents(sizes),
        x(noise<T>(sizes.rows * sizes.in, 1)),
        weight(noise<T>(sizes.in * sizes.out, 2)),
        bias(noise<T>(sizes.out, 3)) {}

  /// The weight as the product reads it: panels of 64 columns, one behind the other.
  std::vector<T> panels() const {
    std::vector<T> to;
    for (int64_t first = 0; first < extents.out; first += 64)
      for (int64_t row = 0; row < extents.in; ++row)
        for (int64_t j = first; j < std::min(first + 64, extents.out); ++j)
          to.push_back(weight[size_t(row * extents.out + j)]);
    return to;
  }

  /// Element by element, with one more behind them, which stays as it is.
  std::vector<T> run() const {
    const std::vector<T> panelled = panels();
    auto y = poisoned<T>(extents.rows * extents.out + 1);
    const RowProductArrays<T> arrays{x.data(), panelled.data(),
                                     bias.empty() ? nullptr : bias.data(), y.data(), nullptr};
    testing::run_elements(extents.rows * extents.out, RowProduct<T>{extents, arrays});
    EXPECT_TRUE(same_bits({y.back()}, poisoned<T>(1))) << "written behind y";
    y.pop_back();
    return y;
  }

  std::vector<double> expected() const {
    auto y = testing::multiply<T>(
        {extents.rows, extents.out, extents.in, testing::strides(false, extents.in),
         testing::strides(false, extents.out)},
        x, weight);
    for (size_t i = 0; i < y.size() && !bias.empty(); ++i)
      y[i] += double(float(bias[i % size_t(extents.out)]));
    return y;
  }

  /// What this build's own product gives: on the host that of its twin.
  std::vector<T> run_twin() const {
    Stream stream(2);
    const std::vector<T> panelled = panels();
    auto y = poisoned<T>(extents.rows * extents.out);
    std::vector<float> scratch(size_t(row_product_scratch_numel(extents) + 1));
    row_product<T>(stream, extents,
                   {x.data(), panelled.data(), bias.empty() ? nullptr : bias.data(), y.data(),
                    scratch.data()});
    stream.wait();
    return y;
  }
};

template <class T>
class RowProductBlock : public ::testing::Test {};
TYPED_TEST_SUITE(RowProductBlock, Elements);

TYPED_TEST(RowProductBlock, AgreesWithDoubleLoopsAndWithTheHost) {
  for (const RowProductExtents& extents :
       {RowProductExtents{1, 1, 1}, RowProductExtents{1, 9, 33}, RowProductExtents{2, 64, 100},
        RowProductExtents{3, 50, 900}, RowProductExtents{70, 23, 300}})
    for (const bool biased : {true, false}) {
      DecodeCase<TypeParam> one(extents);
      if (!biased) one.bias.clear();
      const std::vector<TypeParam> y = one.run();
      const double bound = rounding<TypeParam>() + 1e-6;
      SCOPED_TRACE(::testing::Message()
                   << extents.rows << " x " << extents.in << " x " << extents.out);
      EXPECT_LT(relative_error(y, one.expected()), bound);
      EXPECT_LT(relative_error(one.run_twin(), testing::doubles(y)), bound);
    }
}

TYPED_TEST(RowProductBlock, ARowHasTheSameBitsAloneAndAmongOthers) {
  const DecodeCase<TypeParam> all({.rows = 5, .in = 77, .out = 131});
  const std::vector<TypeParam> y = all.run();
  for (int64_t row : {0, 4}) {
    DecodeCase<TypeParam> one({.rows = 1, .in = 77, .out = 131});
    one.x.assign(all.x.begin() + row * 77, all.x.begin() + (row + 1) * 77);
    EXPECT_TRUE(same_bits(one.run(), {y.begin() + row * 131, y.begin() + (row + 1) * 131}));
  }
}

/// A table, rows of which 3, 0 and 2 are wanted, and scores with one more behind them.
template <class T>
struct Table {
  static constexpr int64_t kClasses = 37;
  int64_t width;
  std::vector<T> table, x;
  std::vector<int32_t> rows{3, 0, 2};
  std::vector<float> y = poisoned<float>(3 * kClasses + 1);

  explicit Table(int64_t columns)
      : width(columns), table(noise<T>(kClasses * columns, 2)), x(noise<T>(4 * columns, 1)) {}

  void run(int64_t wanted) {
    const DecodeInputs inputs{.rows = 4, .logits = wanted};
    testing::run_rows(
        kClasses,
        TableProduct<T>{kClasses, width, &inputs, {x.data(), rows.data(), table.data(), y.data()}});
  }
  /// |difference| to double loops over the wanted rows.
  double error() const {
    std::vector<T> some;
    for (const int32_t row : rows)
      some.insert(some.end(), x.begin() + row * width, x.begin() + (row + 1) * width);
    return relative_error(
        y, testing::multiply<T>(
               {3, kClasses, width, testing::strides(false, width), testing::strides(true, width)},
               some, table));
  }
};

template <class T>
class TableProductBlock : public ::testing::Test {};
TYPED_TEST_SUITE(TableProductBlock, Elements);

TYPED_TEST(TableProductBlock, OfSomeRowsAgreesWithDoubleLoops) {
  for (int64_t width : {1, 31, 128, 500}) {
    Table<TypeParam> of(width);
    of.run(3);
    EXPECT_LT(of.error(), 1e-6) << "width " << width;
    EXPECT_TRUE(std::isnan(of.y.back())) << "written behind the scores";
  }
}

TYPED_TEST(TableProductBlock, WritesNothingWhereNoRowIsWanted) {
  Table<TypeParam> of(31);
  const std::vector<float> before = of.y;
  of.run(0);
  EXPECT_TRUE(same_bits(of.y, before));
}

}  // namespace

}  // namespace zero::kernels::vendor
