// Ranks: 1

#include "zero/kernels/decode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/attention_reference.hpp"
#include "tests/support/chunk_rows.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {
namespace {

using ::testing::ElementsAre;
using testing::poisoned;
using testing::sixteenths;
using testing_support::expect_refused_on_host;

constexpr int64_t kHeads = 3;

/// Feeds the tokens of one text to a cache, chunk by chunk.
template <class T>
class Feeder {
 public:
  Feeder(int64_t head_width, int64_t context, int threads)
      : Feeder({0, kHeads, head_width, cache_columns(context)}, threads) {}
  Feeder(const CachedAttentionExtents& extents, int threads)
      : stream_(threads),
        extents_(extents),
        cache_(size_t(2 * extents.key_width() * extents.columns)) {}

  /// The next `rows` rows of `qkv`, in a chunk of `room`; what lies behind them is NaN.
  std::vector<T> feed(const std::vector<T>& qkv, int64_t rows, int64_t room) {
    CachedAttentionExtents extents = extents_;
    extents.rows = room;
    const int64_t width = extents.width(), keys = extents.key_width(), all = width + 2 * keys;
    auto chunk = poisoned<T>(room * all);
    std::copy_n(qkv.begin() + position_ * all, rows * all, chunk.begin());
    auto y = poisoned<T>(room * width);
    const int64_t bytes = cached_attention_scratch_bytes(extents, stream_.threads());
    auto scratch = poisoned<int64_t>(bytes / 8 + 1);
    const DecodeInputs inputs{.rows = rows};
    const std::vector<ChunkRow> places = testing::rows_from(position_, rows);
    cached_attention<T>(stream_, extents, &inputs,
                        {.rows = places.data(),
                         .q = chunk.data(),
                         .q_stride = all,
                         .stored = {chunk.data() + width, chunk.data() + width + keys, all},
                         .cache = cache_.data(),
                         .y = y.data(),
                         .scratch = scratch.data()});
    stream_.wait();
    EXPECT_EQ(scratch.back(), -1);
    position_ += rows;
    return y;
  }

 private:
  Stream stream_;
  CachedAttentionExtents extents_;
  int64_t position_ = 0;
  std::vector<T> cache_;
};

template <class T>
class CachedAttention : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(CachedAttention, Elements);

TYPED_TEST(CachedAttention, AgreesWithDoubleLoopsForAnyHeadWidth) {
  constexpr int64_t kLength = 137;  // more than two panels of keys
  for (int64_t head_width : {1, 10, 64, 100}) {
    const testing::AttentionCase shape{
        .extents = {.samples = 1, .length = kLength, .heads = kHeads, .head_width = head_width}};
    const auto qkv = sixteenths<TypeParam>(kLength * 3 * shape.width(), 1);
    const auto expected = testing::attention_reference(
        shape, testing::doubles(qkv), std::vector<double>(size_t(kLength * shape.width())));
    Feeder<TypeParam> feeder(head_width, kLength, 2);
    EXPECT_LT(relative_error(feeder.feed(qkv, kLength, kLength), expected.y),
              2 * testing::rounding<TypeParam>() + 1e-6)
        << "head width " << head_width;
  }
}

TYPED_TEST(CachedAttention, ARowHasTheSameBitsInAnyChunkOnAnyThreads) {
  const int64_t width = kHeads * 10;
  const auto qkv = testing::noise<TypeParam>(87 * 3 * width, 1);
  const auto all = Feeder<TypeParam>(10, 87, 1).feed(qkv, 87, 87);
  Feeder<TypeParam> feeder(10, 87, 3);
  std::vector<TypeParam> joined;
  for (int64_t rows : {62, 1, 1, 1, 22}) {
    const auto y = feeder.feed(qkv, rows, 62);
    joined.insert(joined.end(), y.begin(), y.begin() + rows * width);
  }
  EXPECT_TRUE(same_bits(joined, all));
}

TYPED_TEST(CachedAttention, OfSharedKeysAWindowAndACapIsThatOfWholeTexts) {
  constexpr int64_t kLength = 150;
  for (int64_t key_heads : {1, 2, 4})
    for (int64_t window : {0, 1, 7, 64, 100, 150})
      for (float cap : {0.0f, 1.5f}) {
        const testing::AttentionCase shape{.extents = {.samples = 1,
                                                       .length = kLength,
                                                       .heads = 4,
                                                       .head_width = 10,
                                                       .divide_by = 2,
                                                       .key_heads = key_heads,
                                                       .window = window,
                                                       .cap = cap}};
        const auto qkv = testing::noise<TypeParam>(kLength * shape.packed_width(), 1);
        const auto expected = testing::attention_reference(
            shape, testing::doubles(qkv), std::vector<double>(size_t(kLength * shape.width())));
        CachedAttentionExtents extents{0, 4, 10, cache_columns(kLength)};
        extents.divide_by = 2;
        extents.key_heads = key_heads;
        extents.window = window;
        extents.cap = cap;
        Feeder<TypeParam> whole(extents, 2), parts(extents, 1);
        const auto y = whole.feed(qkv, kLength, kLength);
        EXPECT_LT(relative_error(y, expected.y), 2 * testing::rounding<TypeParam>() + 2e-6)
            << key_heads << " heads of keys, window " << window << ", cap " << cap;
        std::vector<TypeParam> joined;
        for (int64_t rows : {70, 1, 79}) {
          const auto part = parts.feed(qkv, rows, 80);
          joined.insert(joined.end(), part.begin(), part.begin() + rows * shape.width());
        }
        EXPECT_TRUE(same_bits(joined, y));
      }
}

TYPED_TEST(CachedAttention, RefusesHeadsAndWindowsThatDoNotFit) {
  const auto qkv = sixteenths<TypeParam>(100, 1);
  CachedAttentionExtents extents{0, 4, 1, cache_columns(1)};
  extents.key_heads = 2;
  extents.window = 1;
  EXPECT_NO_THROW(Feeder<TypeParam>(extents, 1).feed(qkv, 2, 2));
  CachedAttentionExtents other = extents;
  other.key_heads = 3;
  EXPECT_THROW(Feeder<TypeParam>(other, 1).feed(qkv, 2, 2), Error);
  other = extents;
  other.window = -1;
  EXPECT_THROW(Feeder<TypeParam>(other, 1).feed(qkv, 2, 2), Error);
  other = extents;
  other.keys = CachedKeys::all;
  EXPECT_THROW(Feeder<TypeParam>(other, 1).feed(qkv, 2, 2), Error);
}

TYPED_TEST(CachedAttention, PaddingGivesZerosAndIsNotStored) {
  const auto qkv = sixteenths<TypeParam>(3 * 3 * kHeads, 1);
  Feeder<TypeParam> feeder(1, 3, 1);
  const auto y = feeder.feed(qkv, 2, 4);
  for (size_t i = 2 * kHeads; i < y.size(); ++i) EXPECT_EQ(float(y[i]), 0.0f);
  for (const TypeParam& value : feeder.feed(qkv, 1, 1)) EXPECT_FALSE(std::isnan(float(value)));
  for (const TypeParam& value : feeder.feed(qkv, 0, 2)) EXPECT_EQ(float(value), 0) << "no token";
}

TYPED_TEST(CachedAttention, RefusesWhatDoesNotFit) {
  const int64_t room = cache_columns(1);
  const auto qkv = sixteenths<TypeParam>((room + 1) * 3 * kHeads, 1);
  expect_refused_on_host([&] { Feeder<TypeParam>(1, room, 1).feed(qkv, room + 1, room + 1); });
  expect_refused_on_host([&] { Feeder<TypeParam>(1, room, 1).feed(qkv, -1, 1); });
}

TEST(CachedAttentionRoom, HoldsNoMoreTokensThanTheCacheHasColumns) {
  Stream stream(1);
  const CachedAttentionExtents extents{4, kHeads, 1, cache_columns(1)};
  std::vector<float> qkv(size_t(4 * 3 * kHeads)), y(size_t(4 * kHeads));
  std::vector<float> cache(size_t(2 * kHeads * extents.columns));
  std::vector<int64_t> scratch(size_t(cached_attention_scratch_bytes(extents, 1) / 8 + 1));
  const auto feed = [&](int64_t position, int64_t rows) {
    const DecodeInputs inputs{.rows = rows};
    const std::vector<ChunkRow> places = testing::rows_from(position, rows);
    cached_attention<float>(stream, extents, &inputs,
                            {.rows = places.data(),
                             .q = qkv.data(),
                             .q_stride = 3 * kHeads,
                             .stored = {qkv.data() + kHeads, qkv.data() + 2 * kHeads, 3 * kHeads},
                             .cache = cache.data(),
                             .y = y.data(),
                             .scratch = scratch.data()});
    stream.wait();
  };
  EXPECT_NO_THROW(feed(extents.columns - 2, 2));
  expect_refused_on_host([&] { feed(extents.columns - 2, 3); });
  expect_refused_on_host([&] { feed(-1, 1); });
}

template <class T>
struct Case {
  RowProductExtents extents;
  std::vector<T> x, weight, bias;

  explicit Case(const RowProductExtents& sizes)
      : extents(sizes),
        x(testing::noise<T>(sizes.rows * sizes.in, 1)),
        weight(testing::noise<T>(sizes.in * sizes.out, 2)),
        bias(testing::noise<T>(sizes.out, 3)) {}

  /// The weight as the product reads it.
  std::vector<T> panels() const {
    const WeightPanels places{extents.in, extents.out};
    std::vector<float> values, part;
    for (const T& value : weight) values.push_back(float(value));
    std::vector<T> to(weight.size());
    for (int64_t panel = 0; panel < places.count(); ++panel) {
      const int64_t at = places.take(panel, 0, values, part);
      for (size_t i = 0; i < part.size(); ++i) to[size_t(at) + i] = T(part[i]);
    }
    return to;
  }

  /// Rows [first, first + rows) of the product.
  std::vector<T> run(int64_t first, int64_t rows, int threads) const {
    Stream stream(threads);
    const RowProductExtents part{rows, extents.in, extents.out};
    auto y = poisoned<T>(rows * extents.out);
    const std::vector<T> panelled = panels();
    auto scratch = poisoned<int32_t>(row_product_scratch_numel(part) + 1);
    row_product<T>(
        stream, part,
        {x.data() + first * extents.in, panelled.data(), bias.empty() ? nullptr : bias.data(),
         y.data(), reinterpret_cast<float*>(scratch.data())});
    stream.wait();
    EXPECT_EQ(scratch.back(), -1);
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
};

template <class T>
class RowProduct : public ::testing::Test {};
TYPED_TEST_SUITE(RowProduct, Elements);

TYPED_TEST(RowProduct, AgreesWithDoubleLoopsForAnyExtents) {
  for (const RowProductExtents& extents :
       {RowProductExtents{1, 1, 1}, RowProductExtents{1, 9, 33}, RowProductExtents{2, 64, 100},
        RowProductExtents{3, 50, 9000}, RowProductExtents{70, 23, 300}}) {
    const Case<TypeParam> one(extents);
    EXPECT_LT(relative_error(one.run(0, extents.rows, 2), one.expected()),
              rounding<TypeParam>() + 1e-6)
        << extents.rows << " x " << extents.in << " x " << extents.out;
  }
}

TYPED_TEST(RowProduct, WithoutABiasIsTheProductAlone) {
  for (const RowProductExtents& extents :
       {RowProductExtents{1, 9, 133}, RowProductExtents{70, 23, 300}}) {
    Case<TypeParam> one(extents);
    one.bias.clear();
    EXPECT_LT(relative_error(one.run(0, extents.rows, 2), one.expected()),
              rounding<TypeParam>() + 1e-6);
  }
}

TYPED_TEST(RowProduct, ARowHasTheSameBitsAloneAndAmongOthersOnAnyThreads) {
  // Sums of noise are rounded, so another order of them would be seen.
  const Case<TypeParam> one({.rows = 67, .in = 77, .out = 301});
  const std::vector<TypeParam> all = one.run(0, 67, 1);
  EXPECT_TRUE(same_bits(one.run(0, 67, 3), all));
  for (int64_t row : {0, 5, 66}) {
    const auto from = all.begin() + row * 301;
    EXPECT_TRUE(same_bits(one.run(row, 1, 2), std::vector<TypeParam>(from, from + 301)));
  }
}

TYPED_TEST(RowProduct, RefusesAnEmptyExtent) {
  Stream stream(1);
  EXPECT_THROW(row_product<TypeParam>(stream, {.rows = 1, .in = 0, .out = 4}, {}), Error);
}

template <class T>
class TableProduct : public ::testing::Test {};
TYPED_TEST_SUITE(TableProduct, Elements);

TYPED_TEST(TableProduct, OfSomeRowsAgreesWithDoubleLoopsOnAnyThreads) {
  for (int64_t width : {1, 31, 64, 100}) {
    constexpr int64_t kClasses = 519;
    const auto table = sixteenths<TypeParam>(kClasses * width, 2);
    const auto x = sixteenths<TypeParam>(4 * width, 1);
    const std::vector<int32_t> rows = {3, 0, 2};
    auto some = x;
    for (size_t i = 0; i < 3; ++i)
      std::copy_n(x.begin() + rows[i] * width, width, some.begin() + int64_t(i) * width);
    some.resize(size_t(3 * width));
    const auto expected = testing::multiply<TypeParam>(
        {3, kClasses, width, testing::strides(false, width), testing::strides(true, width)}, some,
        table);
    const DecodeInputs inputs{.rows = 4, .logits = 3};
    auto one = poisoned<float>(3 * kClasses), three = poisoned<float>(3 * kClasses);
    Stream alone(1), team(3);
    table_product<TypeParam>(alone, kClasses, width, &inputs,
                             {x.data(), rows.data(), table.data(), one.data()});
    table_product<TypeParam>(team, kClasses, width, &inputs,
                             {x.data(), rows.data(), table.data(), three.data()});
    alone.wait();
    team.wait();
    EXPECT_LT(relative_error(one, expected), 1e-6) << "width " << width;
    EXPECT_TRUE(same_bits(one, three));
  }
}

TYPED_TEST(TableProduct, ARowHasTheSameBitsAloneAndAmongOthers) {
  // Rows by eight and by four, and one alone.
  constexpr int64_t kClasses = 301, kRows = 13;
  std::vector<int32_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0);
  for (int64_t width : {77, 128}) {
    const auto table = testing::noise<TypeParam>(kClasses * width, 2);
    const auto x = testing::noise<TypeParam>(kRows * width, 1);
    auto all = poisoned<float>(kRows * kClasses), one = poisoned<float>(kClasses);
    Stream stream(2);
    const DecodeInputs inputs{.rows = kRows, .logits = kRows}, single{.rows = kRows, .logits = 1};
    table_product<TypeParam>(stream, kClasses, width, &inputs,
                             {x.data(), rows.data(), table.data(), all.data()});
    for (size_t row = 0; row < kRows; ++row) {
      table_product<TypeParam>(stream, kClasses, width, &single,
                               {x.data(), &rows[row], table.data(), one.data()});
      stream.wait();
      const auto from = all.begin() + int64_t(row) * kClasses;
      EXPECT_TRUE(same_bits(one, std::vector<float>(from, from + kClasses))) << row;
    }
  }
}

TYPED_TEST(TableProduct, RefusesAnEmptyTable) {
  Stream stream(1);
  EXPECT_THROW(table_product<TypeParam>(stream, 0, 4, nullptr, {}), Error);
}

std::vector<float> count_from(float first, int64_t numel) {
  std::vector<float> values(static_cast<size_t>(numel));
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(WeightPanels, LieOneBehindTheOtherTheLastNarrower) {
  const WeightPanels panels{.in = 2, .out = 130};
  EXPECT_EQ(panels.count(), 3);
  EXPECT_EQ(panels.columns(1), 64);
  EXPECT_EQ(panels.columns(2), 2);
  std::vector<float> part;
  EXPECT_EQ(panels.take(2, 0, count_from(0, 260), part), 2 * 128);
  EXPECT_THAT(part, ElementsAre(128, 129, 258, 259)) << "columns 128 and 129 of rows 0 and 1";
}

TEST(WeightPanels, PiecesOfAnySizeFillThemOnce) {
  const WeightPanels panels{.in = 5, .out = 100};
  const auto filled = [&](int64_t piece) {
    std::vector<float> places(500, -1), part;
    for (int64_t first = 0; first < 500; first += piece) {
      const auto values = count_from(float(first), std::min(piece, 500 - first));
      for (int64_t panel = 0; panel < panels.count(); ++panel) {
        const int64_t at = panels.take(panel, first, values, part);
        for (size_t i = 0; i < part.size(); ++i) {
          EXPECT_EQ(places[size_t(at) + i], -1) << "piece " << piece;
          places[size_t(at) + i] = part[i];
        }
      }
    }
    return places;
  };
  const std::vector<float> whole = filled(500);
  EXPECT_EQ(whole[64 + 1], 101) << "row 1, column 1, behind the 64 of row 0";
  EXPECT_EQ(whole[5 * 64 + 36], 164) << "row 1, column 64, behind the 36 of row 0";
  for (int64_t piece : {1, 7, 64, 99, 101, 250}) EXPECT_EQ(filled(piece), whole);
}

}  // namespace
}  // namespace zero::kernels
