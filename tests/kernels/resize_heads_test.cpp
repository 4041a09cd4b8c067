// Ranks: 1

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::kernels {
namespace {

using testing::poisoned;
using testing::sixteenths;

template <class T>
std::vector<T> resized(const std::vector<T>& from, const HeadWidths& widths) {
  Stream stream(1);
  adopt_threads(stream);
  // One element more than it is given: it must stay as it is.
  auto to = poisoned<T>(widths.heads * widths.to + 1);
  resize_heads(stream, widths, from.data(), to.data());
  stream.wait();
  EXPECT_TRUE(same_bits({to.back()}, poisoned<T>(1)));
  to.pop_back();
  return to;
}

template <class T>
class ResizeHeads : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(ResizeHeads, Elements);

TYPED_TEST(ResizeHeads, PutsZerosBehindEachHead) {
  using T = TypeParam;
  const std::vector<T> heads{T(1), T(2), T(3), T(4)};
  EXPECT_EQ(doubles(resized<T>(heads, {.heads = 2, .from = 2, .to = 3})),
            (std::vector<double>{1, 2, 0, 3, 4, 0}));
}

TYPED_TEST(ResizeHeads, LeavesPadsBehind) {
  using T = TypeParam;
  const std::vector<T> heads{T(1), T(2), T(9), T(3), T(4), T(9)};
  EXPECT_EQ(doubles(resized<T>(heads, {.heads = 2, .from = 3, .to = 2})),
            (std::vector<double>{1, 2, 3, 4}));
}

TYPED_TEST(ResizeHeads, ComesBackBitForBitWhateverIsMovedAtOnce) {
  for (const auto& [from, to] : std::vector<std::pair<int64_t, int64_t>>{
           {100, 104}, {25, 26}, {50, 56}, {64, 72}, {1, 8}, {7, 7}}) {
    const auto heads = sixteenths<TypeParam>(300 * from, 3);
    const auto wide = resized<TypeParam>(heads, {.heads = 300, .from = from, .to = to});
    for (int64_t i = 0; i < int64_t(wide.size()); ++i) {
      const int64_t head = i / to, j = i % to;
      const float expected = j < from ? float(heads[size_t(head * from + j)]) : 0.0f;
      ASSERT_EQ(float(wide[size_t(i)]), expected) << from << " to " << to << ", element " << i;
    }
    EXPECT_TRUE(same_bits(heads, resized<TypeParam>(wide, {.heads = 300, .from = to, .to = from})));
  }
}

TYPED_TEST(ResizeHeads, TakesArraysAtAnyElement) {
  const auto heads = sixteenths<TypeParam>(1 + 20 * 8, 3);
  auto to = poisoned<TypeParam>(1 + 20 * 16);
  Stream stream(1);
  adopt_threads(stream);
  resize_heads(stream, {.heads = 20, .from = 8, .to = 16}, heads.data() + 1, to.data() + 1);
  stream.wait();
  const std::vector<TypeParam> own(heads.begin() + 1, heads.end());
  EXPECT_TRUE(same_bits(resized<TypeParam>(own, {.heads = 20, .from = 8, .to = 16}),
                        std::vector<TypeParam>(to.begin() + 1, to.end())));
}

}  // namespace
}  // namespace zero::kernels
