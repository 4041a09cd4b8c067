// Ranks: 1

#include "kernels/vendor/head_padding.hpp"

#include <gtest/gtest.h>

#include "tests/support/matrix_reference.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::doubles;
using testing::poisoned;
using testing::same_bits;
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
class HeadPadding : public ::testing::Test {};
using Types = ::testing::Types<bf16, f16>;
TYPED_TEST_SUITE(HeadPadding, Types);

TYPED_TEST(HeadPadding, PutsZerosBehindEachHead) {
  using T = TypeParam;
  const std::vector<T> heads{T(1), T(2), T(3), T(4)};
  EXPECT_EQ(doubles(resized<T>(heads, {.heads = 2, .from = 2, .to = 3})),
            (std::vector<double>{1, 2, 0, 3, 4, 0}));
}

TYPED_TEST(HeadPadding, LeavesPadsBehind) {
  using T = TypeParam;
  const std::vector<T> heads{T(1), T(2), T(9), T(3), T(4), T(9)};
  EXPECT_EQ(doubles(resized<T>(heads, {.heads = 2, .from = 3, .to = 2})),
            (std::vector<double>{1, 2, 3, 4}));
}

TYPED_TEST(HeadPadding, ComesBackBitForBit) {
  const auto heads = sixteenths<TypeParam>(500 * 100, 3);
  const auto wide = resized<TypeParam>(heads, {.heads = 500, .from = 100, .to = 104});
  EXPECT_TRUE(same_bits(heads, resized<TypeParam>(wide, {.heads = 500, .from = 104, .to = 100})));
}

TEST(HeadPaddingDropout, IsDrawnFromTheFirstSampleOfTheMicroBatch) {
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
