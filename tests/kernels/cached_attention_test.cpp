// Ranks: 1

#include "zero/kernels/decode.hpp"

#include <gtest/gtest.h>

#include "tests/support/arrays.hpp"
#include "tests/support/attention_reference.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {
namespace {

using testing::poisoned;
using testing::relative_error;
using testing::same_bits;
using testing::sixteenths;

constexpr int64_t kHeads = 3;

/// Feeds the tokens of one text to a cache of `context`, chunk by chunk.
template <class T>
class Feeder {
 public:
  Feeder(int64_t head_width, int64_t context, int threads)
      : stream_(threads),
        head_width_(head_width),
        columns_(cache_columns(context)),
        cache_(size_t(2 * kHeads * head_width * columns_)) {}

  /// The next `rows` rows of `qkv`, in a chunk of `room`; what lies behind them is NaN.
  std::vector<T> feed(const std::vector<T>& qkv, int64_t rows, int64_t room) {
    const CachedAttentionExtents extents{room, kHeads, head_width_, columns_};
    const int64_t width = kHeads * head_width_;
    auto chunk = poisoned<T>(room * 3 * width);
    std::copy_n(qkv.begin() + position_ * 3 * width, rows * 3 * width, chunk.begin());
    auto y = poisoned<T>(room * width);
    const int64_t bytes = cached_attention_scratch_bytes(extents, stream_.threads());
    auto scratch = poisoned<int64_t>(bytes / 8 + 1);
    const DecodeInputs inputs{.position = position_, .rows = rows};
    cached_attention<T>(stream_, extents, &inputs,
                        {chunk.data(), cache_.data(), y.data(), scratch.data()});
    stream_.wait();
    EXPECT_EQ(scratch.back(), -1);
    position_ += rows;
    return y;
  }

 private:
  Stream stream_;
  int64_t head_width_, columns_, position_ = 0;
  std::vector<T> cache_;
};

template <class T>
class CachedAttention : public ::testing::Test {};
using Types = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(CachedAttention, Types);

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

TYPED_TEST(CachedAttention, PaddingGivesZerosAndIsNotStored) {
  const auto qkv = sixteenths<TypeParam>(3 * 3 * kHeads, 1);
  Feeder<TypeParam> feeder(1, 3, 1);
  const auto y = feeder.feed(qkv, 2, 4);
  for (size_t i = 2 * kHeads; i < y.size(); ++i) EXPECT_EQ(float(y[i]), 0.0f);
  for (const TypeParam& value : feeder.feed(qkv, 1, 1)) EXPECT_FALSE(std::isnan(float(value)));
}

TYPED_TEST(CachedAttention, RefusesWhatDoesNotFit) {
  const int64_t room = cache_columns(1);
  const auto qkv = sixteenths<TypeParam>((room + 1) * 3 * kHeads, 1);
  EXPECT_THROW(Feeder<TypeParam>(1, room, 1).feed(qkv, room + 1, room + 1), Error);
  EXPECT_THROW(Feeder<TypeParam>(1, room, 1).feed(qkv, 0, 1), Error);
}

TEST(CachedAttentionRoom, HoldsNoMoreTokensThanTheCacheHasColumns) {
  Stream stream(1);
  const CachedAttentionExtents extents{4, kHeads, 1, cache_columns(1)};
  std::vector<float> qkv(size_t(4 * 3 * kHeads)), y(size_t(4 * kHeads));
  std::vector<float> cache(size_t(2 * kHeads * extents.columns));
  std::vector<int64_t> scratch(size_t(cached_attention_scratch_bytes(extents, 1) / 8 + 1));
  const auto feed = [&](int64_t position, int64_t rows) {
    const DecodeInputs inputs{.position = position, .rows = rows};
    cached_attention<float>(stream, extents, &inputs,
                            {qkv.data(), cache.data(), y.data(), scratch.data()});
    stream.wait();
  };
  EXPECT_NO_THROW(feed(extents.columns - 2, 2));
  EXPECT_THROW(feed(extents.columns - 2, 3), Error);
  EXPECT_THROW(feed(-1, 1), Error);
}

}  // namespace
}  // namespace zero::kernels
