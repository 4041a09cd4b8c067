// Ranks: 1

#include "zero/kernels/tree_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/balanced_tree.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

using testing::balanced_sum;
using testing::contribution;

template <class T>
struct Sources {
  std::vector<std::vector<T>> data;
  std::vector<const T*> pointers;

  Sources(int count, int64_t numel) {
    for (int s = 0; s < count; ++s) {
      std::vector<T> source;
      for (int64_t i = 0; i < numel; ++i) source.push_back(T(contribution(s, i)));
      data.push_back(std::move(source));
    }
    for (const auto& source : data) pointers.push_back(source.data());
  }

  float sum_at(int64_t i) const {
    std::vector<float> values;
    for (const auto& source : data) values.push_back(float(source[size_t(i)]));
    return balanced_sum(values);
  }
};

template <class Pair>
class TreeSum : public ::testing::Test {};

template <class T, class O>
struct InAndOut {
  using In = T;
  using Out = O;
};
using AllTypes = ::testing::Types<InAndOut<float, float>, InAndOut<bf16, float>,
                                  InAndOut<f16, float>, InAndOut<bf16, bf16>, InAndOut<f16, f16>>;
TYPED_TEST_SUITE(TreeSum, AllTypes);

TYPED_TEST(TreeSum, AddsAnyNumberOfSourcesAlongTheBalancedTree) {
  using In = typename TypeParam::In;
  using Out = typename TypeParam::Out;
  const int64_t numel = 1029;  // more than a block, and a tail that fills no vector
  for (const int count : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17, 31, 33, 64}) {
    const Sources<In> sources(count, numel);
    std::vector<Out> out(size_t(numel) + 1, Out(-7.0f));
    tree_sum<In, Out>(sources.pointers, numel, out.data(), false);
    for (int64_t i = 0; i < numel; ++i) {
      ASSERT_EQ(float(out[size_t(i)]), float(Out(sources.sum_at(i)))) << count << " sources, " << i;
    }
    EXPECT_EQ(float(out.back()), -7.0f) << "beyond the end";
  }
}

TYPED_TEST(TreeSum, AddsNothingWhereThereAreNoElements) {
  using In = typename TypeParam::In;
  using Out = typename TypeParam::Out;
  const Sources<In> sources(3, 1);
  Out out(5.0f);
  tree_sum<In, Out>(sources.pointers, 0, &out, false);
  EXPECT_EQ(float(out), 5.0f);
}

/// What sum_groups() makes of the sums of groups of 64, which tree_sum() has made.
template <class Out>
std::vector<Out> sum_by_groups(const Sources<bf16>& sources, int64_t numel, bool add) {
  const int count = int(sources.pointers.size()), groups = groups_of(count);
  std::vector<float> sums(size_t(group_sums(count) * numel));
  const std::span<const bf16* const> all(sources.pointers);
  for (int g = 0; g < groups; ++g) {
    const size_t first = size_t(g) * kMaxTreeSources;
    const size_t members = std::min(size_t(kMaxTreeSources), all.size() - first);
    tree_sum<bf16, float>(all.subspan(first, members), numel, sums.data() + g * numel, false);
  }
  std::vector<Out> out(size_t(numel), Out(0.5f));
  sum_groups(sums.data(), groups, numel, out.data(), add);
  return out;
}

TEST(SumGroups, GivesTheBitsOfTheBalancedTreeOverAllSources) {
  constexpr int64_t kNumel = 3;
  for (const int count : {65, 66, 96, 127, 128, 129, 192, 256, 1000, 1024, 4096, 4097, 8192}) {
    const Sources<bf16> sources(count, kNumel);
    const auto sums = sum_by_groups<float>(sources, kNumel, false);
    const auto added = sum_by_groups<float>(sources, kNumel, true);
    const auto rounded = sum_by_groups<bf16>(sources, kNumel, false);
    for (int64_t i = 0; i < kNumel; ++i) {
      const float expected = sources.sum_at(i);
      EXPECT_EQ(sums[size_t(i)], expected) << count << " sources, element " << i;
      EXPECT_EQ(added[size_t(i)], 0.5f + expected) << count << " sources, element " << i;
      EXPECT_EQ(float(rounded[size_t(i)]), float(bf16(expected))) << count << " sources, " << i;
    }
  }
}

TEST(SumGroups, TakeRoomForTheSumsOfEveryLevel) {
  EXPECT_EQ(group_sums(1), 0);
  EXPECT_EQ(group_sums(64), 0);
  EXPECT_EQ(group_sums(65), 2);
  EXPECT_EQ(group_sums(1024), 16);
  EXPECT_EQ(group_sums(4096), 64);
  EXPECT_EQ(group_sums(4097), 65 + 2);
  EXPECT_EQ(group_sums(5, 2), 3 + 2);
}

TEST(TreeSumStore, AddsTheFinishedSumToWhatIsThere) {
  // In fp32, 2^24 + 1 is 2^24; the two ones must meet before they reach it.
  const bf16 one(1.0f);
  const bf16* const sources[] = {&one, &one};
  float out = 0x1p24f;
  tree_sum<bf16, float>(sources, 1, &out, true);
  EXPECT_EQ(out, 0x1p24f + 2.0f);
}

TEST(TreeSumStore, RoundsTheSumOnceAndNotEveryAddition) {
  // 256 + 1 is no bf16 and would round back to 256; 256 + 1 + 1 is one.
  const bf16 values[] = {bf16(1.0f), bf16(1.0f), bf16(256.0f)};
  const bf16* const sources[] = {&values[0], &values[2], &values[1]};
  bf16 out;
  tree_sum<bf16, bf16>(sources, 1, &out, false);
  EXPECT_EQ(float(out), 258.0f);
}

TEST(TreeSumSpecial, PassesInfinityAndNanOn) {
  const float inf = std::numeric_limits<float>::infinity();
  const float left[] = {inf, inf, std::nanf(""), 65504.0f};
  const float right[] = {1.0f, -inf, 1.0f, 65504.0f};
  std::vector<f16> a, b;
  for (int i = 0; i < 4; ++i) a.emplace_back(left[i]), b.emplace_back(right[i]);
  const f16* const sources[] = {a.data(), b.data()};
  std::vector<f16> out(4);
  tree_sum<f16, f16>(sources, 4, out.data(), false);
  EXPECT_EQ(float(out[0]), inf);
  EXPECT_TRUE(std::isnan(float(out[1])));
  EXPECT_TRUE(std::isnan(float(out[2])));
  EXPECT_EQ(float(out[3]), inf) << "131008 is beyond fp16";
}

TEST(TreeSumRefusal, NamesTheNumberOfSourcesItCannotAdd) {
  float out = 0;
  const std::vector<const float*> many(kMaxTreeSources + 1, &out);
  EXPECT_THROW((tree_sum<float, float>({}, 1, &out, false)), Error);
  EXPECT_THROW((tree_sum<float, float>(many, 1, &out, false)), Error);
}

TEST(TreeSumRefusal, AddsToNothingThatIsRounded) {
  const bf16 one(1.0f);
  const bf16* const sources[] = {&one};
  bf16 out;
  EXPECT_THROW((tree_sum<bf16, bf16>(sources, 1, &out, true)), Error);
}

constexpr int64_t kNumel = 5, kStride = 7;

/// Numbers whose sum depends on the order in which they are added.
template <class T>
std::vector<T> stack_of(int sources) {
  std::vector<T> stack;
  for (int64_t i = 0; i < sources * kStride; ++i)
    stack.push_back(T((i % 3 == 0 ? 1e4f : 1.0f) / float(1 + i * i % 13)));
  return stack;
}

template <class T, class Out>
void compare(int sources, bool add) {
  const std::vector<T> stack = stack_of<T>(sources);
  std::vector<const T*> apart;
  for (int r = 0; r < sources; ++r) apart.push_back(stack.data() + r * kStride);
  std::vector<Out> expected(size_t(kNumel), Out(0.1f)), got = expected;
  tree_sum<T, Out>(apart, kNumel, expected.data(), add);
  Stream stream(1);
  stacked_sum<T, Out>(stream, {sources, kStride}, kNumel, stack.data(), got.data(), add);
  stream.wait();
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(float(got[i]), float(expected[i])) << sources << " sources, element " << i;
}

TEST(StackedSum, HasTheBitsOfTheTreeSumForAnyNumberOfSources) {
  for (int sources = 1; sources <= kMaxTreeSources; ++sources) {
    compare<float, float>(sources, false);
    compare<float, float>(sources, true);
    compare<bf16, bf16>(sources, false);
    compare<f16, float>(sources, true);
  }
}

template <class Out>
void compare_groups(int groups, bool add) {
  std::vector<float> sums(size_t((groups + group_sums(groups)) * kNumel));
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = (i % 3 == 0 ? 1e4f : 1.0f) / float(1 + i % 13);
  std::vector<float> same = sums;
  std::vector<Out> expected(size_t(kNumel), Out(0.1f)), got = expected;
  sum_groups(sums.data(), groups, kNumel, expected.data(), add);
  Stream stream(1);
  stacked_sum_of_groups(stream, same.data(), groups, kNumel, got.data(), add);
  stream.wait();
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(float(got[i]), float(expected[i])) << groups << " groups, element " << i;
}

TEST(StackedSum, OfGroupsHasTheBitsOfTheHostsToo) {
  for (int groups : {2, 3, 16, 64, 65, 128}) {
    compare_groups<float>(groups, false);
    compare_groups<float>(groups, true);
    compare_groups<bf16>(groups, false);
    compare_groups<f16>(groups, false);
  }
}

TEST(StackedSum, RefusesWhatTheTreeHasNoPlaceFor) {
  Stream stream(1);
  float value = 0;
  for (int sources : {0, kMaxTreeSources + 1})
    EXPECT_NE(
        testing_support::refusal_of(Exit::kInternal,
                                    [&] {
                                      stacked_sum(stream, {sources, 1}, 1, &value, &value, false);
                                    }),
        "");
}

}  // namespace

}  // namespace zero::kernels
