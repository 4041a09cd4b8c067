// Ranks: 1

#include "src/train/stream_join.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "tests/support/arrays.hpp"
#include "zero/device/arena.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::train {
namespace {

TEST(StreamJoin, MakesTheMastersOfTheirParts) {
  constexpr size_t kNumel = 1000;
  const auto masters = testing::noise<float>(int64_t(kNumel), 1, 1.0);
  std::vector<bf16> weight(kNumel);
  std::vector<int16_t> rest(kNumel);
  for (size_t i = 0; i < kNumel; ++i) weight[i] = kernels::split_master(masters[i], rest[i]);
  const Arena arena(4 * int64_t(kNumel));
  auto* const joined = reinterpret_cast<float*>(arena.data());
  for (const size_t numel : {size_t(0), size_t(1), size_t(7), size_t(8), size_t(9), kNumel - 1}) {
    std::fill_n(joined, kNumel, -1.0f);
    stream_join(std::span(weight).first(numel), rest, joined);
    for (size_t i = 0; i < numel; ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(joined[i]), std::bit_cast<uint32_t>(masters[i])) << i;
    ASSERT_EQ(joined[numel], -1.0f) << "behind " << numel;
  }
}

}  // namespace
}  // namespace zero::train
