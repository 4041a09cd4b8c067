// Ranks: 1
#include "zero/advise/memory_limit.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::advise {
namespace {

constexpr int64_t kAvailable = 8000;

TEST(MemoryLimit, SharesAvailableMemoryBetweenTheRanksOfANode) {
  const MemoryLimit limit = host_limit_from(kAvailable, -1, 4);
  EXPECT_EQ(limit.bytes, 2000);
  EXPECT_EQ(limit.source, "available memory / 4 ranks of the node");
}

TEST(MemoryLimit, ATighterGroupWins) {
  const MemoryLimit limit = host_limit_from(kAvailable, 4096, 1);
  EXPECT_EQ(limit.bytes, 4096);
  EXPECT_EQ(limit.source, "cgroup limit / 1 rank of the node");
  EXPECT_EQ(host_limit_from(kAvailable, kAvailable, 1).source, limit.source);
  EXPECT_EQ(host_limit_from(kAvailable, 99999999999, 1).bytes, 8000);
}

TEST(MemoryLimit, IsUnknownWhereNothingTells) { EXPECT_EQ(host_limit_from(-1, -1, 1).bytes, 0); }

TEST(MemoryLimit, TheConfigurationWins) {
  RunConfig config;
  config.memory.device_limit = 5;
  EXPECT_EQ(host_limit(config, 2).bytes, 5);
  EXPECT_EQ(machine_limit(config, {.name = "m", .device_bytes = 7}).bytes, 5);
  config.memory.device_limit = 0;
  EXPECT_EQ(machine_limit(config, {.name = "m", .device_bytes = 7}).bytes, 7);
}

TEST(MemoryLimit, ALimitOfTheProcessCountsLessWhatItHasAndWants) {
  constexpr int64_t kGiB = int64_t(1) << 30;
  const MemoryLimit before{8 * kGiB, "available memory"};
  const ProcessLimit none{.most = -1}, wide{.most = 100 * kGiB, .source = "wide"};
  EXPECT_EQ(within_process(before, {none, wide}).source, "available memory");
  const ProcessLimit space{.most = 3 * kGiB, .used = kGiB, .source = "address space"};
  const MemoryLimit within = within_process(before, {wide, space});
  EXPECT_EQ(within.bytes, 2 * kGiB - kGiB / 4) << "256 MiB stay for what is beside the plan";
  EXPECT_EQ(within.source, "address space");
  const ProcessLimit narrow{.most = kGiB + 100, .used = kGiB, .source = "data"};
  EXPECT_EQ(within_process(before, {narrow, space}).bytes, 50) << "or half";
  EXPECT_EQ(within_process(before, {{.most = 5, .used = 10, .source = "data"}}).bytes, 1);
  EXPECT_EQ(within_process({}, {space}).source, "address space") << "where nothing else is known";
}

TEST(MemoryLimit, HasTheLimitsOfThisProcess) {
  for (const ProcessLimit& limit : process_limits()) EXPECT_GT(limit.used, 0) << limit.source;
}

TEST(MemoryLimitDeathTest, OfTheProcessHoldsBothTogetherBesideTheConfigurations) {
  const auto limited = [] {
    const rlimit data{int64_t(4) << 30, RLIM_INFINITY};
    if (setrlimit(RLIMIT_DATA, &data) != 0) std::exit(2);
    RunConfig config;
    config.memory.device_limit = 5;
    config.memory.host_limit = int64_t(8) << 30;
    const MemoryLimit limit = host_limit(config, 1);
    const bool keeps_theirs = limit.bytes == 5 && limit.host_bytes == int64_t(8) << 30;
    const bool adds_its_own = limit.process_bytes > 0 && limit.process_bytes < int64_t(4) << 30 &&
                              limit.process_source == "data, ulimit -d";
    std::exit(keeps_theirs && adds_its_own ? 0 : 1);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "");
}

TEST(MemoryLimit, OfTheProcessLeavesADevicesOwnMemoryOut) {
  constexpr int64_t kDevice = int64_t(80) << 30;
  const MemoryLimit both{.bytes = kDevice,
                         .source = "memory.device_limit",
                         .host_bytes = 500,
                         .host_source = "memory.host_limit",
                         .process_bytes = 400,
                         .process_source = "ulimit -v"};
  const MemoryLimit apart = apart_from_host(both);
  EXPECT_EQ(apart.bytes, kDevice) << "an arena there takes nothing of this process's limits";
  EXPECT_EQ(apart.source, "memory.device_limit");
  EXPECT_EQ(apart.process_bytes, 0) << "nothing counts both together";
  EXPECT_EQ(apart.host_bytes, 400);
  EXPECT_EQ(apart.host_source, "ulimit -v");

  MemoryLimit wide = both;
  wide.process_bytes = 600;
  EXPECT_EQ(apart_from_host(wide).host_bytes, 500);
  EXPECT_EQ(apart_from_host(wide).host_source, "memory.host_limit");
  wide.host_bytes = 0;
  EXPECT_EQ(apart_from_host(wide).host_bytes, 600) << "where nothing else limits the host";
  wide.process_bytes = 0;
  EXPECT_EQ(apart_from_host(wide).host_bytes, 0) << "no limit is none";
}

TEST(MemoryLimit, OfTheProcessIsOfHostMemoryBesideWhatIsFreeOnADevice) {
  constexpr int64_t kGiB = int64_t(1) << 30;
  const ProcessLimit space{.most = 4 * kGiB, .used = 2 * kGiB, .source = "address space"};
  const MemoryLimit host = within_process(host_limit_from(100 * kGiB, -1, 1), {space});
  const MemoryLimit limit = device_limit_from({.free = 80 * kGiB, .used = kGiB}, 1, host);
  EXPECT_EQ(limit.bytes, 79 * kGiB) << "less what libraries take";
  EXPECT_FALSE(limit.of_host);
  EXPECT_EQ(limit.process_bytes, 0);
  EXPECT_EQ(limit.host_bytes, 2 * kGiB - kGiB / 4);
  EXPECT_EQ(limit.host_source, "address space");
}

TEST(DiskRoom, IsARanksShareOfWhatIsFreeWhereStatesGo) {
  RunConfig config;
  config.offload_optimizer = {.device = Home::nvme, .nvme_path = "."};
  const DiskRoom room = disk_room(config, 4);
  const double free = double(tiers::free_bytes({"."}));
  EXPECT_NEAR(4 * double(room.optimizer), free, 0.1 * free) << "while others write there";
  EXPECT_EQ(room.source, "what is free in nvme_path / 4 ranks of the node");
  EXPECT_EQ(room.parameters, DiskRoom::kUnknown) << "none go there";
  config.offload_optimizer.device = Home::automatic;
  EXPECT_EQ(disk_room(config, 4).source,
            "15/16 of what is free in nvme_path / 4 ranks of the node");
}

TEST(DiskRoom, OfAFolderThatIsNotHereIsUnknownUnlessItIsForAuto) {
  RunConfig config;
  config.offload_param = {.device = Home::nvme, .nvme_path = "absent"};
  EXPECT_EQ(disk_room(config, 1).parameters, DiskRoom::kUnknown);
  config.offload_param.device = Home::automatic;
  EXPECT_THROW(disk_room(config, 1), Error);
}

TEST(MemoryLimit, OfAMachineIsWhatContextAndLibrariesLeave) {
  const plan::Machine card{.name = "m", .device_bytes = 7 << 10, .context_bytes = 2 << 10};
  const MemoryLimit limit = machine_limit({}, card);
  EXPECT_EQ(limit.bytes, 5 << 10);
  EXPECT_EQ(limit.source, "machine m, 7.00 KiB less 2.00 KiB for context and libraries");
  EXPECT_EQ(limit.host_source, "") << "nobody knows what its host has";
  RunConfig config;
  config.memory.device_limit = 6 << 10;
  EXPECT_EQ(machine_limit(config, card).bytes, 6 << 10) << "what is said holds";
}

constexpr int64_t kKiB = 1 << 10;

plan::Machine eight_cards() {
  return {.name = "m",
          .device_bytes = 100 * kKiB,
          .communicators = {.ring_bytes = 10 * kKiB, .peer_bytes = kKiB, .own_bytes = 2 * kKiB},
          .has_memory = true,
          .gpus_per_node = 8};
}

TEST(MemoryLimit, OfAMachineLeavesRoomForCommunicators) {
  const MemoryLimit alone = machine_limit({}, eight_cards(), 1, 1);
  EXPECT_EQ(alone.bytes, 100 * kKiB);
  EXPECT_EQ(alone.communicators.bytes, 0);
  const MemoryLimit node = machine_limit({}, eight_cards(), 8, 16);
  EXPECT_EQ(node.communicators.bytes, 19 * kKiB) << "7 peers of the node";
  EXPECT_EQ(node.communicators.source, "of NCCL by published figures, 8 ranks of a node");
  EXPECT_EQ(node.bytes, 81 * kKiB);
  EXPECT_EQ(node.source, "machine m, less 19.00 KiB for communicators");
  plan::Machine host = eight_cards();
  host.has_memory = false;
  EXPECT_EQ(machine_limit({}, host, 8, 8).bytes, 100 * kKiB) << "a host has no such library";
}

TEST(MemoryLimit, OfAMachineTakesMeasuredCommunicators) {
  plan::Machine measured = eight_cards();
  measured.communicators.measured = 5 * kKiB;
  const MemoryLimit limit = machine_limit({}, measured, 8, 8);
  EXPECT_EQ(limit.bytes, 95 * kKiB);
  EXPECT_EQ(limit.communicators.source, "as m says");
  EXPECT_EQ(device_room(limit, 16), 95 * kKiB);
}

TEST(MemoryLimit, OfMoreRanksLeavesRoomForTheirCommunicators) {
  const MemoryLimit one = machine_limit({}, eight_cards(), 1, 1);
  EXPECT_EQ(device_room(one, 1), 100 * kKiB);
  EXPECT_EQ(device_room(one, 2), 87 * kKiB);
  EXPECT_EQ(device_room(one, 8), 81 * kKiB);
  const MemoryLimit eight = machine_limit({}, eight_cards(), 8, 8);
  EXPECT_EQ(device_room(eight, 8), 81 * kKiB);
  EXPECT_EQ(device_room(eight, 32), 81 * kKiB) << "nodes stay as they are";
  RunConfig config;
  config.memory.device_limit = 99 * kKiB;
  const MemoryLimit said = machine_limit(config, eight_cards(), 8, 8);
  EXPECT_EQ(said.bytes, 99 * kKiB) << "what is said holds";
  EXPECT_EQ(said.communicators.bytes, 19 * kKiB) << "which is beside it";
  EXPECT_EQ(device_room(said, 16), 99 * kKiB);
  EXPECT_EQ(device_room({}, 16), 0) << "no limit is known";
}

TEST(MemoryLimit, ATighterLimitOfTheNodeIsSharedByItsRanks) {
  RunConfig config;
  config.memory.host_limit = 12;
  EXPECT_EQ(host_limit(config, 4).bytes, 3);
  EXPECT_EQ(host_limit(config, 4).source, "memory.host_limit / 4 ranks of the node");
  config.memory.device_limit = 2;
  EXPECT_EQ(host_limit(config, 4).source, "memory.device_limit");
}

TEST(MemoryLimit, OfTheHostIsItsOwnBesideOneOfTheDevice) {
  RunConfig config;
  config.memory.device_limit = 5;
  config.memory.host_limit = 12;
  const MemoryLimit both = host_limit(config, 4), card = machine_limit(config, {.name = "m"}, 2);
  EXPECT_EQ(both.bytes, 5);
  EXPECT_EQ(both.host_bytes, 3);
  EXPECT_EQ(both.host_source, "memory.host_limit / 4 ranks of the node");
  EXPECT_FALSE(both.of_host);
  EXPECT_EQ(card.host_bytes, 6);
  config.memory.device_limit = 0;
  EXPECT_TRUE(host_limit(config, 4).of_host) << "one limit of both";
  EXPECT_EQ(host_limit(config, 4).host_bytes, 0);
}

TEST(MemoryLimit, OfAMachinesHostIsSharedByTheRanksOfItsNode) {
  const plan::Machine card{
      .name = "m", .device_bytes = 7, .has_memory = true, .host_bytes = 8 << 10};
  const MemoryLimit limit = machine_limit({}, card, 4);
  EXPECT_EQ(limit.host_bytes, 2 << 10);
  EXPECT_EQ(limit.host_source, "machine m, 8.00 KiB / 4 ranks of the node");
  EXPECT_FALSE(limit.of_host);
  RunConfig config;
  config.memory.host_limit = 40 << 10;
  EXPECT_EQ(machine_limit(config, card, 4).host_bytes, 10 << 10) << "what is said holds";
  EXPECT_EQ(machine_limit(config, card, 4).host_source, "memory.host_limit / 4 ranks of the node");
}

TEST(MemoryLimit, OfAHostThatWasMeasuredCountsAllThatLiesInItsMemory) {
  EXPECT_TRUE(machine_limit({}, {.name = "m", .device_bytes = 7}).of_host);
}

TEST(MemoryLimit, BytesReadLikeWords) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(3.0 * 1024 * 1024 * 1024), "3.00 GiB");
}

TEST(MemoryLimit, OfADeviceIsWhatIsFreeThereLessWhatLibrariesTake) {
  constexpr int64_t kGiB = int64_t(1) << 30;
  const MemoryLimit host{.bytes = 7, .source = "available memory"};
  const MemoryLimit alone = device_limit_from({9 * kGiB, kGiB / 2}, 1, host);
  EXPECT_EQ(alone.bytes, 8 * kGiB);
  EXPECT_EQ(alone.source, "free device memory, beside 512.00 MiB of contexts and other programs");
  EXPECT_EQ(alone.host_bytes, 7);
  EXPECT_EQ(alone.host_source, "available memory");
  EXPECT_FALSE(alone.of_host);
  const MemoryLimit shared = device_limit_from({9 * kGiB, 70 * kGiB}, 3, host);
  EXPECT_EQ(shared.bytes, 2 * kGiB);
  EXPECT_EQ(shared.source,
            "free device memory, beside 70.00 GiB of contexts and other programs / 3 ranks that "
            "share it");
  EXPECT_EQ(device_limit_from({kGiB / 2, 0}, 1, host).bytes, 1) << "0 would be no limit";
}

}  // namespace
}  // namespace zero::advise
