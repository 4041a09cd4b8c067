// Ranks: 1

#include "kernels/vendor/attention_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/matrix_reference.hpp"

namespace zero::kernels::vendor {
namespace {

using ::testing::ElementsAre;
using testing::poisoned;

constexpr AttentionExtents kExtents{.samples = 3,
                                    .length = 2,
                                    .heads = 2,
                                    .head_width = 8,
                                    .keys = 5,
                                    .causal = false,
                                    .counted = true};
constexpr int64_t kWidth = 16;

/// Queries of all samples, then their keys, each with one number behind them.
std::vector<int32_t> lengths_of(const std::vector<int32_t>& counts) {
  Stream stream(1);
  adopt_threads(stream);
  std::vector<int32_t> lengths(8, -7);
  write_lengths(stream, kExtents, counts.empty() ? nullptr : counts.data(),
                {.queries = lengths.data(), .keys = lengths.data() + 4});
  stream.wait();
  return lengths;
}

TEST(AttentionLengths, AreThoseOfTheCountsAndOneWhereThereIsNone) {
  EXPECT_THAT(lengths_of({5, 0, 3}), ElementsAre(2, 1, 2, -7, 5, 1, 3, -7));
  EXPECT_THAT(lengths_of({}), ElementsAre(2, 2, 2, -7, 5, 5, 5, -7));
}

TEST(AttentionLengths, AreWithinTheKeysWhateverTheCountsAre) {
  EXPECT_THAT(lengths_of({6, -1, 1}), ElementsAre(2, 1, 2, -7, 5, 1, 1, -7));
}

template <class T>
class AttentionPadding : public ::testing::Test {};
using Types = ::testing::Types<bf16, f16>;
TYPED_TEST_SUITE(AttentionPadding, Types);

/// Which rows of `stride` elements have zeros in their first kWidth, and NaN in all others.
template <class T>
std::vector<int64_t> cleared(const std::vector<T>& rows, int64_t stride) {
  std::vector<int64_t> found;
  for (int64_t row = 0; row * stride < int64_t(rows.size()); ++row) {
    const T* const first = rows.data() + row * stride;
    const auto is_zero = [](T value) { return float(value) == 0.0f; };
    const auto is_nan = [](T value) { return std::isnan(float(value)); };
    EXPECT_TRUE(std::all_of(first + kWidth, first + stride, is_nan)) << "beside row " << row;
    if (std::all_of(first, first + kWidth, is_zero))
      found.push_back(row);
    else
      EXPECT_TRUE(std::all_of(first, first + kWidth, is_nan)) << "row " << row;
  }
  return found;
}

TYPED_TEST(AttentionPadding, QueriesOfASampleWithoutKeysAreCleared) {
  using T = TypeParam;
  Stream stream(1);
  adopt_threads(stream);
  const std::vector<int32_t> counts = {5, 0, 1};
  auto y = poisoned<T>(6 * kWidth), dq = poisoned<T>(6 * 3 * kWidth);
  auto logsumexp = poisoned<float>(3 * 2 * 2);
  clear_blind_queries<T>(stream, kExtents, counts.data(), {y.data(), kWidth, logsumexp.data()});
  clear_blind_queries<T>(stream, kExtents, counts.data(), {dq.data(), 3 * kWidth});
  stream.wait();
  EXPECT_THAT(cleared(y, kWidth), ElementsAre(2, 3));
  EXPECT_THAT(cleared(dq, 3 * kWidth), ElementsAre(2, 3));
  for (size_t i = 0; i < logsumexp.size(); ++i)
    EXPECT_EQ(logsumexp[i] == 0.0f, i / 4 == 1) << "sample, head and query " << i;
}

TYPED_TEST(AttentionPadding, KeysBehindTheCountOfTheirSampleAreCleared) {
  using T = TypeParam;
  Stream stream(1);
  adopt_threads(stream);
  const std::vector<int32_t> counts = {5, 0, 3};
  auto dk = poisoned<T>(15 * 2 * kWidth), dv = poisoned<T>(15 * 2 * kWidth);
  clear_padding<T>(stream, kExtents, counts.data(), {dk.data(), dv.data(), 2 * kWidth});
  stream.wait();
  EXPECT_THAT(cleared(dk, 2 * kWidth), ElementsAre(5, 6, 7, 8, 9, 13, 14));
  EXPECT_EQ(cleared(dk, 2 * kWidth), cleared(dv, 2 * kWidth));
}

TEST(WriteDropout, IsDrawnFromTheFirstSampleOfTheMicroBatch) {
  Stream stream(1);
  adopt_threads(stream);
  StepInputs inputs{};
  inputs.seed = 77;
  inputs.first_sample = 40;
  std::vector<AttentionDropout> drawn(2, {.seed = -1, .offset = -1});
  write_dropout(stream, {.probability = 0.5f, .site = 3, .sample_offset = 2}, &inputs,
                drawn.data());
  stream.wait();
  EXPECT_EQ(drawn[0], attention_dropout(77, 3, 42));
  EXPECT_EQ(drawn[1], (AttentionDropout{.seed = -1, .offset = -1}));
}

}  // namespace

}  // namespace zero::kernels::vendor
