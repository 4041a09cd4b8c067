// Ranks: 1
#include "zero/device/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "zero/device/arena.hpp"

namespace zero {
namespace {

TEST(CopyBytes, CopiesAsManyBytesAsItIsGivenAndNoMore) {
  Stream stream(1);
  const Arena from(4096), to(4096);
  for (size_t i = 0; i < 4096; ++i) from.data()[i] = std::byte(uint8_t(i * 7 + 1));
  copy_bytes(stream, {from.data() + 3, 100}, to.data() + 5);
  stream.wait();
  EXPECT_EQ(to.data()[4], std::byte{0});
  EXPECT_TRUE(std::equal(from.data() + 3, from.data() + 103, to.data() + 5));
  EXPECT_EQ(to.data()[105], std::byte{0});
}

}  // namespace
}  // namespace zero
