// Ranks: 1

#include "zero/device/arena.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/device/device.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMiB = 1 << 20;

TEST(Arena, IsPageAlignedAndFilledWithZeros) {
  const Arena arena(3 * kMiB + 5);
  EXPECT_EQ(arena.bytes(), 3 * kMiB + 5);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % 4096, 0u);
  EXPECT_TRUE(std::all_of(arena.data(), arena.data() + arena.bytes(),
                          [](std::byte b) { return b == std::byte(0); }));
}

TEST(Arena, ResidentBytesAreThoseThatWereTouched) {
  Arena arena(64 * kMiB);
  EXPECT_EQ(arena.resident_bytes(), 0);
  arena.data()[0] = std::byte(1);
  EXPECT_GE(arena.resident_bytes(), 4096);
  EXPECT_LE(arena.resident_bytes(), 2 * kMiB);  // at most one huge page
  arena.touch(2);
  EXPECT_EQ(arena.resident_bytes(), 64 * kMiB);
  EXPECT_EQ(arena.data()[0], std::byte(1)) << "touching changes nothing";
}

TEST(Arena, NeighboursAreCountedApart) {
  Arena one(2 * kMiB), other(4 * kMiB);
  other.touch(1);
  EXPECT_EQ(one.resident_bytes(), 0);
  EXPECT_EQ(other.resident_bytes(), 4 * kMiB);
}

TEST(Arena, MovesWithItsContents) {
  Arena arena(kMiB);
  arena.data()[7] = std::byte(9);
  Arena moved(std::move(arena));
  EXPECT_EQ(arena.data(), nullptr);
  Arena assigned;
  assigned = std::move(moved);
  EXPECT_EQ(assigned.bytes(), kMiB);
  EXPECT_EQ(assigned.data()[7], std::byte(9));
}

TEST(Arena, LiesOnTheHostOfABuildForTheHostWhateverPlaceIsAskedFor) {
  for (const Place place : {Place::host, Place::pinned, Place::device}) {
    Arena arena(kMiB, place);
    EXPECT_EQ(arena.on_host(), place != Place::device || !drives_devices());
    if (!arena.on_host()) continue;
    arena.data()[kMiB - 1] = std::byte(1);
    EXPECT_GT(arena.resident_bytes(), 0);
  }
}

TEST(Arena, MayBeEmpty) {
  Arena arena(0);
  arena.touch(1);
  EXPECT_EQ(arena.bytes(), 0);
  EXPECT_EQ(arena.resident_bytes(), 0);
}

TEST(Arena, RefusesMoreThanThereIsAndNamesBothFigures) {
  const int64_t asked = int64_t(1) << 50;
  try {
    Arena arena(asked);
    FAIL() << "2^50 bytes were given out";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kDoesNotFit);
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(asked)));
    EXPECT_THAT(error.what(), HasSubstr("available"));
  }
}

TEST(Arena, APartOfAnotherIsItsBytesAndGivesNothingBack) {
  Arena whole(10000);
  whole.data()[4096] = std::byte{7};
  {
    const Arena part = Arena::part_of(whole, 4096);
    EXPECT_EQ(part.bytes(), 10000 - 4096);
    EXPECT_EQ(part.data(), whole.data() + 4096);
    EXPECT_EQ(part.on_host(), whole.on_host());
    EXPECT_EQ(part.data()[0], std::byte{7});
    part.data()[1] = std::byte{8};
  }
  EXPECT_EQ(whole.data()[4097], std::byte{8});
  EXPECT_EQ(Arena::part_of(whole, 10000).bytes(), 0);
  EXPECT_THROW(Arena::part_of(whole, 10001), Error);
}

}  // namespace
}  // namespace zero
