// Ranks: 1

#include "kernels/vendor/attention_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/device_block.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"

namespace zero::kernels::vendor {
namespace {

using ::testing::ElementsAre;
using testing::poisoned;
using testing::sixteenths;

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
using Halves = ::testing::Types<bf16, f16>;
TYPED_TEST_SUITE(AttentionPadding, Halves);

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

/// Runs `code` as every thread of every block, the last block first.
template <class Code>
void run_blocks(const Code& code, int64_t shared_numel) {
  for (int64_t index = code.blocks() - 1; index >= 0; --index)
    testing::HostBlock(index, code.kThreads, shared_numel, [&](const auto& block) {
      code(block);
    }).run();
}

AttentionExtents shape_of(int64_t queries, int64_t keys, bool causal) {
  return {.samples = 3,
          .length = queries,
          .heads = 2,
          .head_width = 8,
          .keys = keys,
          .causal = causal,
          .biased = true};
}

/// Lengths below, at and above a tile of diagonals, as many keys as queries, fewer and more.
std::vector<AttentionExtents> shapes() {
  std::vector<AttentionExtents> all;
  for (const bool causal : {true, false})
    for (int64_t length : {2, 16, 45}) all.push_back(shape_of(length, length, causal));
  for (int64_t keys : {1, 40, 75}) all.push_back(shape_of(33, keys, false));
  return all;
}

template <class T>
class AttentionBiasBlock : public ::testing::Test {};
using BiasTypes = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(AttentionBiasBlock, BiasTypes);

TYPED_TEST(AttentionBiasBlock, GivesEachScoreTheNumberOfItsDiagonal) {
  using T = TypeParam;
  for (const AttentionExtents& shape : shapes()) {
    const auto bias = sixteenths<float>(shape.heads * shape.diagonals(), 6);
    const int64_t keys = shape.key_length(), numel = score_count(shape, 1);
    auto full = poisoned<T>(numel + 1);
    run_blocks(SpreadBias<T>{shape, bias.data(), full.data()}, 0);
    for (int64_t i = 0; i < numel; ++i) {
      const int64_t key = i % keys, query = i / keys % shape.length;
      const int64_t head = i / keys / shape.length;
      const int64_t diagonal = head * shape.diagonals() + shape.length - 1 + key - query;
      ASSERT_EQ(float(full[size_t(i)]), bias[size_t(diagonal)])
          << "query " << query << ", key " << key;
    }
    EXPECT_TRUE(same_bits({full.back()}, poisoned<T>(1))) << "written behind the last query";
  }
}

/// Whether the gradient of a score is one that counts.
bool is_seen(const AttentionExtents& shape, int64_t keys, int64_t query, int64_t key) {
  return key < keys && (!shape.causal || key <= query);
}

/// Scores' gradients, NaN wherever none counts.
template <class T>
std::vector<T> gradients(const AttentionExtents& shape, const std::vector<int32_t>& counts) {
  const int64_t stride = shape.key_length();
  auto full = sixteenths<T>(score_count(shape, shape.samples), 3);
  const T nan = poisoned<T>(1)[0];
  for (int64_t i = 0; i < int64_t(full.size()); ++i) {
    const int64_t sample = i / stride / shape.length / shape.heads;
    const int64_t keys = counts.empty() ? shape.key_length() : counts[size_t(sample)];
    if (!is_seen(shape, keys, i / stride % shape.length, i % stride)) full[size_t(i)] = nan;
  }
  return full;
}

template <class T>
std::vector<double> sums_of(const AttentionExtents& shape, const std::vector<T>& full) {
  const int64_t stride = shape.key_length();
  std::vector<double> sums(size_t(shape.heads * shape.diagonals()));
  for (int64_t i = 0; i < int64_t(full.size()); ++i) {
    const double value = double(float(full[size_t(i)]));
    const int64_t key = i % stride, query = i / stride % shape.length;
    const int64_t head = i / stride / shape.length % shape.heads;
    if (!std::isnan(value))
      sums[size_t(head * shape.diagonals() + shape.length - 1 + key - query)] += value;
  }
  return sums;
}

TYPED_TEST(AttentionBiasBlock, AddsTheGradientsOfADiagonalOverQueriesAndSamples) {
  using T = TypeParam;
  for (const AttentionExtents& shape : shapes()) {
    const int32_t keys = int32_t(shape.key_length());
    for (const std::vector<int32_t>& counts : {std::vector<int32_t>{}, {keys, 0, (keys + 1) / 2}}) {
      const std::vector<T> full = gradients<T>(shape, counts);
      auto dbias = poisoned<float>(shape.heads * shape.diagonals() + 1);
      const SumDiagonals<T> code{shape, counts.empty() ? nullptr : counts.data(), full.data(),
                                 dbias.data()};
      run_blocks(code, code.kSharedNumel);
      SCOPED_TRACE(::testing::Message() << shape.length << " queries and " << keys << " keys");
      EXPECT_LT(relative_error(dbias, sums_of(shape, full)), 1e-6);
      EXPECT_TRUE(std::isnan(dbias.back())) << "written behind the last diagonal";
    }
  }
}

}  // namespace

}  // namespace zero::kernels::vendor
