// Ranks: 1

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/refusal.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::kernels {
namespace {

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
