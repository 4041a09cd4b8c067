// Ranks: 1

#include "zero/base/philox.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zero {
namespace {

using ::testing::ElementsAre;

// Known answers of Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_THAT(philox({{0, 0, 0, 0}}, 0).word,
              ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  constexpr uint32_t kOnes = 0xffffffffu;
  EXPECT_THAT(philox({{kOnes, kOnes, kOnes, kOnes}}, ~uint64_t(0)).word,
              ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  // The counter and the key are digits of pi.
  EXPECT_THAT(
      philox({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0x299f31d0a4093822u).word,
      ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
}

TEST(Philox, EveryPartOfCounterAndKeyMatters) {
  const PhiloxBlock base = philox({{1, 2, 3, 4}}, 5);
  EXPECT_NE(philox({{2, 2, 3, 4}}, 5).word[0], base.word[0]);
  EXPECT_NE(philox({{1, 3, 3, 4}}, 5).word[0], base.word[0]);
  EXPECT_NE(philox({{1, 2, 4, 4}}, 5).word[0], base.word[0]);
  EXPECT_NE(philox({{1, 2, 3, 5}}, 5).word[0], base.word[0]);
  EXPECT_NE(philox({{1, 2, 3, 4}}, 6).word[0], base.word[0]);
  EXPECT_NE(philox({{1, 2, 3, 4}}, 5 + (uint64_t(1) << 32)).word[0], base.word[0]);
}

}  // namespace
}  // namespace zero
