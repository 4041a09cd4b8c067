// Ranks: 1

#include "zero/kernels/dropout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/support/kernel_arrays.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

/// On the heap or the stack of who asks, which a device can read.
StepInputs inputs_of(uint64_t seed, int64_t first_sample) {
  StepInputs inputs{};
  inputs.seed = seed;
  inputs.first_sample = first_sample;
  return inputs;
}

constexpr DropoutSite site_with(float probability) { return {probability, 3, 0}; }

struct Use {
  DropoutSite site = site_with(0.25f);
  DropoutExtents extents{.samples = 1, .numel_per_sample = 1};
  int threads = 1;
};

template <class T>
std::vector<T> dropped(const Use& use, const std::vector<T>& x, const T* residual = nullptr) {
  Stream stream(use.threads);
  std::vector<T> out(x.size());
  const StepInputs inputs = inputs_of(99, 40);
  dropout_add(stream, use.site, use.extents, &inputs, x.data(), residual, out.data());
  stream.wait();
  return out;
}

/// 1 where an element is kept: dropout of ones with p = 0.25 gives 0 or 4/3.
std::vector<bool> mask(const Use& use) {
  const int64_t numel = use.extents.samples * use.extents.numel_per_sample;
  std::vector<bool> kept;
  for (float value : dropped(use, std::vector<float>(size_t(numel), 1.0f))) {
    kept.push_back(value != 0);
  }
  return kept;
}

template <class T>
class Dropout : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Dropout, Elements);

TYPED_TEST(Dropout, KeepsScalesAndAddsAsTheWordsSay) {
  for (const int64_t numel : {1, 4, 7, 1023, 1024, 1025, 2502}) {
    const Use use{.extents = {3, numel}};
    const auto x = noise<TypeParam>(3 * numel, 1), residual = noise<TypeParam>(3 * numel, 2);
    const auto out = dropped(use, x, residual.data());
    for (int64_t i = 0; i < 3 * numel; ++i) {
      const int64_t element = i % numel;
      const auto words = dropout_words(99, 3, 40 + i / numel, uint32_t(element / 4));
      const float scaled =
          words.word[element % 4] >= 0x40000000u ? float(x[size_t(i)]) * (1.0f / 0.75f) : 0.0f;
      ASSERT_EQ(float(out[size_t(i)]), float(TypeParam(scaled + float(residual[size_t(i)]))));
    }
  }
}

TYPED_TEST(Dropout, MayWriteOverXOrTheResidual) {
  const Use use{.extents = {2, 1500}, .threads = 2};
  auto x = noise<TypeParam>(3000, 1), residual = noise<TypeParam>(3000, 2);
  const auto expected = dropped(use, x, residual.data());
  auto y = x;
  Stream stream(2);
  const StepInputs inputs = inputs_of(99, 40);
  dropout_add(stream, use.site, use.extents, &inputs, y.data(), residual.data(), y.data());
  dropout_add(stream, use.site, use.extents, &inputs, x.data(), residual.data(), residual.data());
  stream.wait();
  EXPECT_TRUE(same_bits(y, expected));
  EXPECT_TRUE(same_bits(residual, expected));
}

TYPED_TEST(Dropout, ProbabilityZeroCopiesOrAdds) {
  const Use use{.site = site_with(0.0f), .extents = {2, 50}};
  const auto x = noise<TypeParam>(100, 1), residual = noise<TypeParam>(100, 2);
  EXPECT_TRUE(same_bits(dropped(use, x), x));
  const auto sum = dropped(use, x, residual.data());
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(float(sum[i]), float(TypeParam(float(x[i]) + float(residual[i]))));
  }
}

TEST(DropoutMask, KeepsTheStatedShareAndTheMean) {
  const Use use{.extents = {16, 1 << 16}};  // 2^20 elements: the share strays by 4e-4
  const std::vector<bool> kept = mask(use);
  double share = 0;
  for (bool one : kept) share += one ? 0x1p-20 : 0.0;
  EXPECT_NEAR(share, 0.75, 2e-3);
  EXPECT_EQ(
      dropped(use,
              std::vector<float>(
                  1 << 20, 3.0f))[size_t(std::find(kept.begin(), kept.end(), true) - kept.begin())],
      4.0f);
}

TEST(DropoutMask, ForwardAndBackwardShareIt) {
  const Use use{.extents = {2, 999}};
  const std::vector<float> dx = dropped(use, std::vector<float>(1998, 1.0f));
  const std::vector<float> y = dropped(use, noise<float>(1998, 5));
  for (size_t i = 0; i < 1998; ++i) EXPECT_EQ(dx[i] == 0, y[i] == 0);
}

TEST(DropoutMask, NoPartitionChangesIt) {
  const int64_t numel = 1001;
  const std::vector<bool> whole = mask({.extents = {6, numel}, .threads = 2});
  for (int64_t sample = 0; sample < 6; ++sample) {
    Use alone{.extents = {1, numel}};
    alone.site.sample_offset = sample;
    const std::vector<bool> part = mask(alone);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + sample * numel));
  }
}

TEST(DropoutMask, DiffersBetweenSitesAndSamples) {
  const Use use{.extents = {2, 512}};
  const std::vector<bool> first = mask(use);
  Use other = use;
  other.site.site = 4;
  EXPECT_NE(mask(other), first);
  EXPECT_FALSE(std::equal(first.begin(), first.begin() + 512, first.begin() + 512));
}

/// The kept elements of rows of a table whose elements are ones.
std::vector<bool> kept_rows(const TableRows& rows, DropoutSite site, int64_t first_sample = 40) {
  Stream stream(2);
  std::vector<float> x(size_t(rows.count * rows.width), 1.0f), out(x.size());
  const StepInputs inputs = inputs_of(99, first_sample);
  drop_rows(stream, site, rows, &inputs, x.data(), out.data());
  stream.wait();
  std::vector<bool> kept;
  for (const float value : out) kept.push_back(value != 0);
  return kept;
}

TEST(DropoutOfRows, DependsOnTheStepAndOnThePlaceInTheTableAlone) {
  for (const int64_t width : {7, 1500}) {
    const DropoutSite site = site_with(0.25f);
    const std::vector<bool> table = kept_rows({.first = 0, .count = 9, .width = width}, site);
    const std::vector<bool> part = kept_rows({.first = 4, .count = 3, .width = width}, site);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), table.begin() + 4 * width)) << width;
    DropoutSite later = site;
    later.sample_offset = 3;
    EXPECT_EQ(kept_rows({.first = 0, .count = 9, .width = width}, later), table)
        << "micro-batches of a step share the mask";
    EXPECT_NE(kept_rows({.first = 0, .count = 9, .width = width}, site, 48), table)
        << "steps do not";
    later.site = 4;
    EXPECT_NE(kept_rows({.first = 0, .count = 9, .width = width}, later), table);
    EXPECT_FALSE(std::equal(table.begin(), table.begin() + width, table.begin() + width));
  }
}

TEST(DropoutOfRows, DrawsTheWordsOfTheStepsFirstSample) {
  const std::vector<bool> kept = kept_rows({.first = 2, .count = 1, .width = 6}, site_with(0.25f));
  for (int64_t i = 0; i < 6; ++i) {
    const auto words = dropout_words(99, 3, 40, uint32_t(2 * 2 + i / 4));  // two blocks a row
    EXPECT_EQ(kept[size_t(i)], words.word[i % 4] >= 0x40000000u);
  }
}

TEST(DropoutOfRows, RefusesRowsBeforeTheTable) {
  EXPECT_THROW(kept_rows({.first = -1, .count = 1, .width = 4}, site_with(0.25f)), Error);
}

TEST(DropoutMask, NaNIsDroppedOrKeptLikeAnyValue) {
  const Use use{.extents = {1, 64}};
  const std::vector<bool> kept = mask(use);
  const auto out = dropped(use, std::vector<float>(64, std::numeric_limits<float>::quiet_NaN()));
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(std::isnan(out[i]), kept[i]);
}

TEST(DropoutMask, RefusesAProbabilityOfOne) {
  std::vector<float> x(4);
  EXPECT_THROW(dropped({.site = site_with(1.0f), .extents = {1, 4}}, x), Error);
  EXPECT_THROW(dropped({.site = site_with(-0.1f), .extents = {1, 4}}, x), Error);
}

}  // namespace
}  // namespace zero::kernels
