// Ranks: 1

#include "zero/kernels/embedding.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/kernel_arrays.hpp"

namespace zero::kernels {
namespace {

/// Tokens with many repeats: half of the rows share three of them.
std::vector<int32_t> some_tokens(const EmbeddingExtents& extents) {
  std::vector<int32_t> tokens;
  for (int64_t r = 0; r < extents.samples * extents.length; ++r) {
    const uint32_t word = philox({{uint32_t(r), 0, 0, 0}}, 11).word[0];
    tokens.push_back(int32_t(r % 2 == 0 ? word % 3 : word % uint32_t(extents.vocabulary)));
  }
  return tokens;
}

template <class T>
struct Gradients {
  std::vector<T> tokens, positions;
};

template <class T>
Gradients<T> gradients_of(const EmbeddingExtents& extents, const std::vector<int32_t>& tokens,
                          const std::vector<T>& dx, const std::vector<T>& before, int threads) {
  Stream stream(threads);
  Gradients<T> out{before, std::vector<T>(size_t(extents.length * extents.width))};
  std::vector<int32_t> scratch(size_t(embedding_scratch_numel(extents)), 12345);
  embedding_backward(stream, extents,
                     EmbeddingGradArrays<T>{tokens.data(), dx.data(), out.tokens.data(),
                                            out.positions.data(), scratch.data()});
  stream.wait();
  return out;
}

template <class T>
class Embedding : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Embedding, Elements);

TYPED_TEST(Embedding, AddsTheRowsOfTokenAndPosition) {
  const EmbeddingExtents extents{.samples = 3, .length = 7, .width = 33, .vocabulary = 50};
  const auto tokens = some_tokens(extents);
  const auto table = noise<TypeParam>(50 * 33, 1), positions = noise<TypeParam>(7 * 33, 2);
  std::vector<TypeParam> x(21 * 33);
  Stream stream(2);
  embedding(stream, extents, tokens.data(), table.data(), positions.data(), x.data());
  stream.wait();
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t r = i / 33, j = i % 33;
    const float sum = float(table[size_t(tokens[r]) * 33 + j]) + float(positions[r % 7 * 33 + j]);
    EXPECT_EQ(float(x[i]), float(TypeParam(sum)));
  }
}

TYPED_TEST(Embedding, MayScaleTokensAndHaveNoPositions) {
  const EmbeddingExtents extents{
      .samples = 3, .length = 7, .width = 33, .vocabulary = 50, .scale = 3.0f};
  const auto tokens = some_tokens(extents);
  const auto table = noise<TypeParam>(50 * 33, 1), positions = noise<TypeParam>(7 * 33, 2);
  std::vector<TypeParam> alone(21 * 33), both(alone);
  Stream stream(2);
  embedding<TypeParam>(stream, extents, tokens.data(), table.data(), nullptr, alone.data());
  embedding(stream, extents, tokens.data(), table.data(), positions.data(), both.data());
  stream.wait();
  for (size_t i = 0; i < alone.size(); ++i) {
    const size_t r = i / 33, j = i % 33;
    const float token = float(table[size_t(tokens[r]) * 33 + j]);
    EXPECT_EQ(float(alone[i]), float(TypeParam(3 * token)));
    const float sum = std::fma(3.0f, token, float(positions[r % 7 * 33 + j]));
    EXPECT_EQ(float(both[i]), float(TypeParam(sum)));
  }
}

TYPED_TEST(Embedding, PutsRowsAtTheirPositionsAndLeavesPaddingZero) {
  const EmbeddingExtents extents{.samples = 1, .length = 4, .width = 3, .vocabulary = 2};
  const std::vector<int32_t> tokens = {1, 0, -1, -1};
  std::vector<TypeParam> table, positions, x(12, TypeParam(9.0f));
  for (int i = 0; i < 6; ++i) table.push_back(TypeParam(float(i)));
  for (int i = 0; i < 15; ++i) positions.push_back(TypeParam(float(16 * i)));
  const DecodeInputs inputs{.rows = 2};
  const ChunkRow rows[] = {{.text = 0, .position = 4}, {.text = 1, .position = 2}};
  Stream stream(2);
  embedding_at<TypeParam>(stream, extents, &inputs, rows,
                          {tokens.data(), table.data(), positions.data()}, x.data());
  stream.wait();
  // Token 1 at position 4: {3, 4, 5} + 16 {12, 13, 14}; token 0 at position 2: {0, 1, 2} + ...
  const std::vector<float> expected = {195, 212, 229, 96, 113, 130, 0, 0, 0, 0, 0, 0};
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(float(x[i]), expected[i]) << i;
}

TYPED_TEST(Embedding, GradientsAgreeWithDoubleLoops) {
  for (const EmbeddingExtents e : {EmbeddingExtents{1, 1, 1, 4}, EmbeddingExtents{4, 50, 300, 97},
                                   EmbeddingExtents{2, 128, 64, 1000}}) {
    const auto tokens = some_tokens(e);
    const auto dx = noise<TypeParam>(e.samples * e.length * e.width, 3);
    const auto before = noise<TypeParam>(e.vocabulary * e.width, 4);
    std::vector<double> table = doubles(before), positions(size_t(e.length * e.width));
    for (size_t i = 0; i < dx.size(); ++i) {
      const size_t width = size_t(e.width), r = i / width, j = i % width;
      table[size_t(tokens[r]) * width + j] += double(float(dx[i]));
      positions[r % size_t(e.length) * width + j] += double(float(dx[i]));
    }
    const auto gradients = gradients_of(e, tokens, dx, before, 1);
    EXPECT_LT(relative_error(gradients.tokens, table), rounding<TypeParam>() + 2e-6);
    EXPECT_LT(relative_error(gradients.positions, positions), rounding<TypeParam>() + 2e-6);
  }
}

TYPED_TEST(Embedding, ATokenThatDoesNotOccurKeepsItsRow) {
  const EmbeddingExtents extents{1, 2, 3, 4};
  const auto before = noise<TypeParam>(12, 4);
  const auto after = gradients_of(extents, {2, 2}, noise<TypeParam>(6, 5), before, 1).tokens;
  for (size_t i = 0; i < 12; ++i) {
    if (i / 3 == 2) continue;
    EXPECT_EQ(float(after[i]), float(before[i])) << i;
  }
}

TYPED_TEST(Embedding, ATokenThatStandsStillKeepsItsRow) {
  EmbeddingExtents extents{.samples = 2, .length = 3, .width = 300, .vocabulary = 4};
  const auto before = noise<TypeParam>(4 * 300, 4), dx = noise<TypeParam>(6 * 300, 5);
  const std::vector<int32_t> tokens = {2, 2, 1, 3, 2, 1};
  auto expected = gradients_of(extents, tokens, dx, before, 2);
  extents.still = 2;
  const auto got = gradients_of(extents, tokens, dx, before, 2);
  EXPECT_FALSE(testing::same_bits(got.tokens, expected.tokens));
  std::copy_n(before.begin() + 600, 300, expected.tokens.begin() + 600);
  EXPECT_TRUE(testing::same_bits(got.tokens, expected.tokens));
  EXPECT_TRUE(testing::same_bits(got.positions, expected.positions));
}

TYPED_TEST(Embedding, WritesAWholeGradientOfATableThatNobodyHasWritten) {
  const EmbeddingExtents extents{
      .samples = 2, .length = 3, .width = 5, .vocabulary = 8, .scale = 0.5f};
  const std::vector<int32_t> tokens = {7, 1, 7, 2, 7, 1};
  const auto dx = noise<TypeParam>(6 * 5, 3);
  std::vector<TypeParam> table(8 * 5, TypeParam(NAN));
  std::vector<double> expected(8 * 5);
  for (size_t i = 0; i < dx.size(); ++i)
    expected[size_t(tokens[i / 5]) * 5 + i % 5] += 0.5 * double(float(dx[i]));
  std::vector<int32_t> scratch(size_t(embedding_scratch_numel(extents)), 12345);
  Stream stream(2);
  embedding_backward(stream, extents,
                     EmbeddingGradArrays<TypeParam>{.tokens = tokens.data(),
                                                    .dx = dx.data(),
                                                    .dtoken_table = table.data(),
                                                    .dposition_table = nullptr,
                                                    .scratch = scratch.data(),
                                                    .first = true});
  stream.wait();
  EXPECT_LT(relative_error(table, expected), rounding<TypeParam>() + 2e-6);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(float(table[i]), 0.0f);
}

TYPED_TEST(Embedding, GivesPositionsAloneTheGradientThatTheyHaveBesideTokens) {
  const EmbeddingExtents extents{.samples = 4, .length = 3, .width = 5, .vocabulary = 8};
  const auto tokens = some_tokens(extents);
  const auto dx = noise<TypeParam>(12 * 5, 3), before = noise<TypeParam>(8 * 5, 4);
  std::vector<TypeParam> positions(3 * 5, TypeParam(NAN));
  Stream stream(2);
  embedding_backward(stream, {.samples = 4, .length = 3, .width = 5, .vocabulary = 0},
                     EmbeddingGradArrays<TypeParam>{.tokens = nullptr,
                                                    .dx = dx.data(),
                                                    .dtoken_table = nullptr,
                                                    .dposition_table = positions.data(),
                                                    .scratch = nullptr});
  stream.wait();
  EXPECT_TRUE(same_bits(positions, gradients_of(extents, tokens, dx, before, 1).positions));
}

TYPED_TEST(Embedding, ThreadsDoNotChangeABit) {
  const EmbeddingExtents extents{5, 60, 130, 200};
  const auto tokens = some_tokens(extents);
  const auto dx = noise<TypeParam>(300 * 130, 3), before = noise<TypeParam>(200 * 130, 4);
  const auto one = gradients_of(extents, tokens, dx, before, 1);
  const auto two = gradients_of(extents, tokens, dx, before, 2);
  EXPECT_TRUE(same_bits(one.tokens, two.tokens));
  EXPECT_TRUE(same_bits(one.positions, two.positions));
}

TEST(EmbeddingValues, ASumIsRoundedOnceAndAddedInRowOrder) {
  // 1 + 4 x 2^-9 in bf16: added one by one each term is lost, as a sum it is 2^-7.
  const EmbeddingExtents extents{4, 1, 1, 2};
  const std::vector<bf16> dx(4, bf16(0x1p-9f)), before(2, bf16(1.0f));
  const auto gradients = gradients_of(extents, {1, 1, 1, 1}, dx, before, 1);
  EXPECT_EQ(float(gradients.tokens[0]), 1.0f);
  EXPECT_EQ(float(gradients.tokens[1]), 1.0f + 0x1p-7f);
  // In fp32, 1e8 + 1 - 1e8 is 0 and 1e8 - 1e8 + 1 is 1: the order is that of the rows.
  const std::vector<float> zeros(2, 0.0f);
  const EmbeddingExtents three{3, 1, 1, 2};
  EXPECT_EQ(gradients_of<float>(three, {0, 0, 0}, {1e8f, 1, -1e8f}, zeros, 1).tokens[0], 0.0f);
  EXPECT_EQ(gradients_of<float>(three, {0, 0, 0}, {1e8f, -1e8f, 1}, zeros, 1).tokens[0], 1.0f);
}

TEST(EmbeddingValues, NaNReachesItsTokenAndItsPositionAlone) {
  const EmbeddingExtents extents{2, 2, 1, 3};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto gradients = gradients_of<float>(extents, {0, 1, 2, 2}, {1, nan, 1, 1}, {0, 0, 0}, 1);
  EXPECT_EQ(gradients.tokens[0], 1.0f);
  EXPECT_TRUE(std::isnan(gradients.tokens[1]));
  EXPECT_EQ(gradients.tokens[2], 2.0f);
  EXPECT_EQ(gradients.positions[0], 2.0f);
  EXPECT_TRUE(std::isnan(gradients.positions[1]));
}

}  // namespace
}  // namespace zero::kernels
