// Ranks: 1

#include "kernels/vendor/attention_bias_block.hpp"

#include <gtest/gtest.h>

#include "tests/support/arrays.hpp"
#include "tests/support/device_block.hpp"
#include "tests/support/matrix_reference.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::poisoned;
using testing::relative_error;
using testing::same_bits;
using testing::sixteenths;

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
using Types = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(AttentionBiasBlock, Types);

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
