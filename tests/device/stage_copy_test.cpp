// Ranks: 1

#include <gtest/gtest.h>

#include <cstddef>

#include "tests/support/arrays.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"

namespace zero {
namespace {

constexpr int64_t kMost = 100'000;
constexpr std::byte kUntouched{0x5a};

class StageCopy : public ::testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Bytes, StageCopy,
                         ::testing::Values(0, 1, 63, 64, 65, 4096, 16383, 16384, 16385, 16448,
                                           32768, kMost - 1));

TEST_P(StageCopy, CopiesEachByteAndNoneBehindThem) {
  const auto from = testing::noise<float>(kMost / 4 + 1, 1, 1.0);
  const auto* const source = reinterpret_cast<const std::byte*>(from.data());
  const Arena to(kMost + 1);
  std::fill_n(to.data(), kMost + 1, kUntouched);
  stage_copy(to.data(), source + 3, GetParam());
  for (int64_t i = 0; i < GetParam(); ++i) ASSERT_EQ(to.data()[i], source[3 + i]) << i;
  for (int64_t i = GetParam(); i <= kMost; ++i) ASSERT_EQ(to.data()[i], kUntouched) << i;
}

}  // namespace
}  // namespace zero
