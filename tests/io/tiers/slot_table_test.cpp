// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/faulty_engine.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::tiers {

bool operator==(const DiskExtent& a, const DiskExtent& b) {
  return a.offset == b.offset && a.bytes == b.bytes;
}
void PrintTo(const DiskExtent& extent, std::ostream* out) {
  *out << extent.bytes << " bytes at " << extent.offset;
}

namespace {

using testing::Fault;
using testing::FaultyEngine;
using ::testing::HasSubstr;
using testing_support::refusal_of;
using testing_support::TempFolder;

constexpr int64_t kBlock = kDiskBlockBytes;

/// In blocks: 0 has one slot, 1 to 4 have second slots at 100 to 103, 5 has one, 6 and 7 have
/// theirs at 104 and 105.
constexpr std::array<DiskExtent, 2> kTwo = {{{kBlock, 4 * kBlock}, {6 * kBlock, 2 * kBlock}}};

DiskExtent blocks(int64_t first, int64_t count) { return {first * kBlock, count * kBlock}; }
DiskExtent current(const SlotTable& table, int64_t first, int64_t count) {
  return table.current(first * kBlock, count * kBlock);
}
DiskExtent frozen(const SlotTable& table, int64_t first, int64_t count) {
  return table.frozen(first * kBlock, count * kBlock);
}
void claim(SlotTable& table, int64_t first, int64_t count) {
  table.claim(first * kBlock, count * kBlock);
}

TEST(SlotTable, OfADiskWithoutSecondSlotsFindsAllInItsPlace) {
  SlotTable table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(current(table, 3, 7), blocks(3, 7));
}

TEST(SlotTable, WritesInPlaceWhileNothingIsFrozen) {
  SlotTable table(kTwo, 100 * kBlock);
  EXPECT_EQ(SlotTable::bytes_for(kTwo), 6 * kBlock);
  claim(table, 1, 4);
  EXPECT_EQ(current(table, 1, 4), blocks(1, 4));
  table.freeze();
  table.thaw();
  claim(table, 1, 4);
  EXPECT_EQ(current(table, 1, 4), blocks(1, 4));
}

TEST(SlotTable, KeepsWhatIsFrozenAndWritesToTheOtherSlot) {
  SlotTable table(kTwo, 100 * kBlock);
  table.freeze();
  EXPECT_EQ(current(table, 1, 4), blocks(1, 4)) << "until it is written to";
  claim(table, 2, 2);
  EXPECT_EQ(current(table, 1, 4), blocks(1, 1));
  EXPECT_EQ(current(table, 2, 3), blocks(101, 2));
  EXPECT_EQ(current(table, 4, 1), blocks(4, 1));
  EXPECT_EQ(frozen(table, 1, 4), blocks(1, 4));
  claim(table, 2, 2);
  EXPECT_EQ(current(table, 2, 3), blocks(101, 2)) << "a second write goes where the first went";
  EXPECT_EQ(frozen(table, 1, 4), blocks(1, 4));
}

TEST(SlotTable, GoesBackAndForthFromSaveToSave) {
  SlotTable table(kTwo, 100 * kBlock);
  for (int turn = 0; turn < 2; ++turn) {
    table.freeze();
    claim(table, 6, 2);
    EXPECT_EQ(frozen(table, 6, 2), blocks(6, 2));
    EXPECT_EQ(current(table, 6, 2), blocks(104, 2));
    table.thaw();
    claim(table, 6, 2);
    EXPECT_EQ(current(table, 6, 2), blocks(104, 2)) << "between saves it stays where it is";
    table.freeze();
    EXPECT_EQ(frozen(table, 6, 2), blocks(104, 2));
    claim(table, 6, 2);
    EXPECT_EQ(frozen(table, 6, 2), blocks(104, 2));
    EXPECT_EQ(current(table, 6, 2), blocks(6, 2));
    table.thaw();
  }
}

TEST(SlotTable, CutsStretchesWherePlacesAreNotInARow) {
  SlotTable table(kTwo, 100 * kBlock);
  table.freeze();
  claim(table, 0, 8);
  EXPECT_EQ(current(table, 0, 8), blocks(0, 1)) << "one slot";
  EXPECT_EQ(current(table, 1, 7), blocks(100, 4));
  EXPECT_EQ(current(table, 5, 3), blocks(5, 1));
  EXPECT_EQ(current(table, 6, 5), blocks(104, 2));
  EXPECT_EQ(current(table, 8, 5), blocks(8, 5));
  EXPECT_EQ(table.current(7 * kBlock, 4096), (DiskExtent{105 * kBlock, 4096}))
      << "a part of a block";
}

TEST(SlotTable, RefusesExtentsThatMeetAndASecondFreeze) {
  constexpr std::array<DiskExtent, 2> meet = {{{0, 2 * kBlock}, {kBlock, kBlock}}};
  EXPECT_THROW(SlotTable(meet, 8 * kBlock), Error);
  SlotTable table(kTwo, 100 * kBlock);
  table.freeze();
  EXPECT_THROW(table.freeze(), Error);
}

constexpr int64_t kBytes = 8 * kStripeBytes;

std::unique_ptr<aio::Engine> threads() { return aio::make_thread_engine({.threads = 2}); }

std::unique_ptr<aio::Engine> flipping() {
  FaultyEngine::Chances chances{};
  chances[size_t(Fault::flipped)] = 1.0;
  return std::make_unique<FaultyEngine>(threads(), 1, chances);
}

void fill(std::span<std::byte> memory, int salt) {
  for (size_t i = 0; i < memory.size(); ++i) {
    memory[i] = std::byte(uint8_t(i * 7 + i / 4099 + size_t(salt)));
  }
}

/// A disk of kBytes with second slots for all but the last stripe, in one folder or two.
struct Slotted {
  explicit Slotted(const std::vector<std::string>& folders)
      : files({.folders = folders, .bytes = kBytes + kSaved.bytes}),
        table(files.bytes()),
        slots(std::span(&kSaved, 1), kBytes) {}

  static constexpr DiskExtent kSaved = {0, kBytes - kStripeBytes};
  DiskFiles files;
  BlockTable table;
  SlotTable slots;
  DiskTier lane{files, {table, slots}, threads(), {}};
  DiskTier save{files, DiskBlocks::frozen(table, slots), threads(), {}};
  Arena out{kBytes}, in{kBytes};

  std::span<std::byte> filled(int salt) {
    const std::span all(out.data(), size_t(kBytes));
    fill(all, salt);
    return all;
  }
  bool reads(DiskTier& tier, int64_t offset, std::span<const std::byte> expected) {
    const std::span found(in.data(), expected.size());
    tier.read(offset, found);
    return std::equal(found.begin(), found.end(), expected.begin());
  }
};

TEST(SlotTable, KeepsWhatASaveReadsWhileALaneWrites) {
  const TempFolder a("slots-a"), b("slots-b");
  for (const auto& folders : {std::vector{a.path()}, {a.path(), b.path()}}) {
    Slotted disk(folders);
    disk.lane.write(0, disk.filled(1), 1);
    for (int save = 1; save < 4; ++save) {
      const std::vector<std::byte> old(disk.out.data(), disk.out.data() + Slotted::kSaved.bytes);
      disk.slots.freeze();
      // Another part each time, so that neighbours are in different slots.
      const int64_t first = save * kDiskBlockBytes, bytes = kBytes - 2 * first;
      const auto next = disk.filled(10 * save).subspan(size_t(first), size_t(bytes));
      for (const int step : {2, 3}) disk.lane.write(first, next, step);
      EXPECT_TRUE(disk.reads(disk.lane, first, next)) << save;
      EXPECT_TRUE(disk.reads(disk.save, 0, old)) << save;
      disk.slots.thaw();
      disk.lane.write(0, disk.filled(100 * save), 4);
      EXPECT_TRUE(disk.reads(disk.lane, 0, disk.filled(100 * save))) << save;
    }
  }
}

/// As a thread that saves does beside a lane: the thread sanitizer would tell.
TEST(SlotTable, IsReadByASaveWhileALaneWrites) {
  const TempFolder folder("slots");
  Slotted disk({folder.path()});
  const size_t bytes = size_t(Slotted::kSaved.bytes);
  disk.lane.write(0, disk.filled(1).first(bytes), 1);
  const std::vector<std::byte> old(disk.filled(1).data(), disk.filled(1).data() + bytes);
  disk.slots.freeze();
  std::thread save([&] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(disk.reads(disk.save, 0, old));
  });
  for (int i = 0; i < 20; ++i) disk.lane.write(0, disk.filled(10 + i).first(bytes), 2 + i);
  save.join();
}

TEST(SlotTable, KeepsChecksumsOfBothSlots) {
  const TempFolder folder("slots");
  Slotted disk({folder.path()});
  const size_t bytes = size_t(Slotted::kSaved.bytes);
  const auto old = disk.filled(1).first(bytes);
  disk.lane.write(0, old, 1);
  disk.slots.freeze();
  disk.lane.check(0, old);
  const auto next = disk.filled(2).first(bytes);
  disk.lane.note(0, next, 2);
  disk.lane.write(0, next, 2, Sums::by_user);
  disk.lane.check(0, next);
  EXPECT_THAT(refusal_of(Exit::kIo, [&] { disk.save.check(0, next); }),
              HasSubstr("written in step 1"));
  disk.save.check(0, disk.filled(1).first(bytes));
  EXPECT_THROW(disk.save.write(0, next, 3), Error);
  DiskTier flips{disk.files, DiskBlocks::frozen(disk.table, disk.slots), flipping(), {}};
  EXPECT_THAT(refusal_of(Exit::kIo, [&] { flips.read(0, next); }),
              HasSubstr("written in step 1, reads back as other bytes"));
}

}  // namespace
}  // namespace zero::tiers
