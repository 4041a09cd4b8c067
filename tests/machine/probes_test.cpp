// Ranks: 1
#include "src/machine/probes.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/refusal.hpp"
#include "zero/launch/process_environment.hpp"
#include "zero/machine/machine.hpp"

namespace zero::machine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Variable environment(std::map<std::string, const char*> values) {
  return [values](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second;
  };
}

TEST(KillDelay, OfOpenMpiIsTooShortUnlessRaised) {
  const char* delay = "OMPI_MCA_odls_base_sigkill_timeout";
  const Finding short_one = kill_delay_finding(environment({{"OMPI_COMM_WORLD_SIZE", "2"}}));
  EXPECT_EQ(short_one.verdict, Verdict::warning);
  EXPECT_THAT(short_one.found, HasSubstr("2 s after"));
  EXPECT_THAT(short_one.advice, HasSubstr("odls_base_sigkill_timeout 2"));
  const auto raised = environment({{"OMPI_COMM_WORLD_SIZE", "2"}, {delay, "2"}});
  EXPECT_EQ(kill_delay_finding(raised).verdict, Verdict::good);
  EXPECT_THAT(kill_delay_finding(raised).found,
              HasSubstr("4 s after Ctrl-C or SIGTERM, 2 s after"));
  EXPECT_EQ(kill_delay_finding(environment({})).verdict, Verdict::good);
  const Finding of_open_mpi_5 = kill_delay_finding(
      environment({{"OMPI_COMM_WORLD_SIZE", "2"}, {delay, "9"}, {"PRTE_LAUNCHED", "1"}}));
  EXPECT_EQ(of_open_mpi_5.verdict, Verdict::warning);
  EXPECT_THAT(of_open_mpi_5.advice, HasSubstr("kill -USR1"));
}

TEST(Binding, WarnsOfIdleCoresAndOfTooManyThreads) {
  const auto verdict = [](Binding binding) { return binding_finding(binding).verdict; };
  EXPECT_EQ(verdict({.online = 4, .allowed = 4, .node_ranks = 1, .threads = 4}), Verdict::good);
  EXPECT_EQ(verdict({.online = 4, .allowed = 2, .node_ranks = 2, .threads = 2}), Verdict::good);
  const Finding bound = binding_finding({.online = 4, .allowed = 1, .node_ranks = 1, .threads = 1});
  EXPECT_EQ(bound.verdict, Verdict::warning);
  EXPECT_THAT(bound.advice, HasSubstr("--bind-to none"));
  EXPECT_EQ(verdict({.online = 4, .allowed = 4, .node_ranks = 3, .threads = 2}), Verdict::warning);
  EXPECT_EQ(verdict({.online = 4, .allowed = 1, .node_ranks = 1, .threads = 2}), Verdict::warning);
}

TEST(Environment, NamesSettingsThatCostSpeed) {
  const Findings harmful =
      openmp_findings(environment({{"OMP_WAIT_POLICY", "ACTIVE"}, {"OMP_PROC_BIND", "close"}}));
  ASSERT_EQ(harmful.size(), 2u);
  EXPECT_THAT(harmful[0].found, HasSubstr("OMP_WAIT_POLICY=ACTIVE"));
  EXPECT_THAT(harmful[1].advice, HasSubstr("unset OMP_PROC_BIND"));
  EXPECT_EQ(openmp_findings(environment({{"GOMP_SPINCOUNT", "infinity"}}))[0].verdict,
            Verdict::warning);
  const Findings fine = openmp_findings(environment({{"OMP_WAIT_POLICY", "passive"},
                                                     {"OMP_PROC_BIND", "false"},
                                                     {"GOMP_SPINCOUNT", launch::kBriefSpin},
                                                     {"OMP_NUM_THREADS", "3"}}));
  ASSERT_EQ(fine.size(), 1u);
  EXPECT_EQ(fine[0].verdict, Verdict::good);
  EXPECT_EQ(fine[0].found, "OMP_NUM_THREADS=3");
}

TEST(Devices, AreNamedAndTheirAbsenceEndsTraining) {
  const DeviceInfo h200{.name = "NVIDIA H200",
                        .id = "a",
                        .bytes = int64_t(140) << 30,
                        .processors = 132,
                        .major = 9,
                        .minor = 0};
  const auto node_of = [](std::vector<std::vector<std::string>> of_rank) {
    return NodeDevices{.host = "n1", .of_rank = std::move(of_rank), .trouble = "no NVIDIA driver"};
  };
  const Finding none = device_finding(node_of({{}}), 0, {});
  EXPECT_EQ(none.verdict, Verdict::missing);
  EXPECT_EQ(none.stops, Exit::kUsage);
  EXPECT_THAT(none.found, HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(none.advice, HasSubstr("host-release"));
  const Finding both = device_finding(node_of({{"a", "b"}, {"a", "b"}}), 1, {h200, h200});
  EXPECT_EQ(both.verdict, Verdict::good);
  EXPECT_EQ(both.found, "2 x NVIDIA H200, 140.00 GiB, 132 multiprocessors, architecture 9.0");
  const Finding few = device_finding(node_of({{"a"}, {"a"}, {"a"}, {"a"}}), 0, {h200});
  EXPECT_EQ(few.verdict, Verdict::missing) << "a run would be refused as well";
  EXPECT_THAT(few.found, HasSubstr("4 ranks on n1, which shows them 1 GPU"));
  EXPECT_THAT(few.advice, HasSubstr("run.share_device = true"));
  EXPECT_EQ(few.stops, Exit::kUsage);
  const Finding own = device_finding(node_of({{"a"}, {"b"}}), 1, {h200});
  EXPECT_EQ(own.verdict, Verdict::warning) << "a launcher may show each rank its own, and runs";
  EXPECT_EQ(own.stops, Exit::kFinished);
  EXPECT_THAT(own.found, HasSubstr("each of the 2 ranks on n1 sees one GPU alone"));
  EXPECT_THAT(own.advice, HasSubstr("srun --gpu-bind=none"));
}

DeviceInfo device_of(const std::string& name, double gib) {
  return {.name = name,
          .id = "",
          .bytes = int64_t(gib * double(int64_t(1) << 30)),
          .processors = 1,
          .major = 8,
          .minor = 0};
}

TEST(CardName, IsThatOfAProfileOrTheHost) {
  EXPECT_EQ(card_name(false, {}, ""), "host");
  EXPECT_EQ(card_name(true, {device_of("NVIDIA A100-SXM4-40GB", 39.5)}, ""), "a100_40g");
  EXPECT_EQ(card_name(true, {device_of("Tesla V100-SXM2-32GB", 31.7)}, ""), "v100_32g");
}

TEST(CardName, OfNoProfileIsRefusedWithWhatWorks) {
  const auto refusal = [](const std::vector<DeviceInfo>& devices) {
    return testing_support::refusal_of(Exit::kUsage,
                                       [&] { card_name(true, devices, "no driver"); });
  };
  EXPECT_THAT(refusal({}), HasSubstr("no driver"));
  const auto broken = [] { card_name(true, {}, "a fault of the node", Exit::kDevice); };
  EXPECT_THAT(testing_support::refusal_of(Exit::kDevice, broken), HasSubstr("a fault of the node"));
  EXPECT_THAT(refusal({device_of("NVIDIA L40S", 44)}), HasSubstr("NVIDIA L40S: is none of titan"));
  EXPECT_THAT(refusal({device_of("Tesla V100-SXM2-16GB", 15.8)}),
              HasSubstr("has 15.80 GiB, v100_32g has 31.75 GiB; zeroapp calibrate --out FILE"));
}

TEST(HugePages, AreJudgedByWhatAnArenaGets) {
  HugePages pages{.enabled = "always [madvise] never",
                  .defrag = "always defer [defer+madvise] madvise never",
                  .arena_bytes = 100,
                  .huge_bytes = 95};
  const Finding good = huge_page_finding(pages);
  EXPECT_EQ(good.verdict, Verdict::good);
  EXPECT_EQ(good.found, "95 % of an arena (enabled: madvise, defrag: defer+madvise)");
  pages.huge_bytes = 10;
  EXPECT_THAT(huge_page_finding(pages).advice, HasSubstr("defrag"));
  pages.enabled = "always madvise [never]";
  EXPECT_THAT(huge_page_finding(pages).advice, HasSubstr("transparent_hugepage/enabled"));
}

TEST(SharedMemory, OfAContainerIsEnoughForAFewRanks) {
  constexpr int64_t kContainer = int64_t(64) << 20;
  EXPECT_EQ(shared_memory_finding(kContainer, 8).verdict, Verdict::good);
  const Finding many = shared_memory_finding(kContainer, 32);
  EXPECT_EQ(many.verdict, Verdict::warning);
  EXPECT_THAT(many.advice, HasSubstr("--shm-size"));
  EXPECT_EQ(shared_memory_finding(-1, 32).verdict, Verdict::good);
}

TEST(Leftovers, AreFilesOfOpenMpiThatNobodyHasMapped) {
  const std::filesystem::path folder = ::testing::TempDir() + "zero_leftovers";
  std::filesystem::create_directory(folder);
  for (const char* name : {"vader_segment.n1.0.15890001.0", "vader_segment.n1.0.15890001.1",
                           "vader_segment.n1.0.22d00001.0", "another"}) {
    std::ofstream(folder / name) << "12345678";
  }
  const std::string used = folder / "vader_segment.n1.0.22d00001.0";
  const int file = open(used.c_str(), O_RDONLY);
  void* const place = mmap(nullptr, 8, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(place, MAP_FAILED);
  const Leftovers left = leftovers_of_mpi(folder);
  munmap(place, 8);
  close(file);
  EXPECT_EQ(left.files, 2);
  EXPECT_EQ(left.bytes, 16);
  const std::string pattern = folder / "vader_segment.n1.0.15890001.*";
  EXPECT_EQ(left.patterns, std::set<std::string>{pattern});
  const Finding told = shared_memory_finding(int64_t(1) << 30, 1, left);
  EXPECT_EQ(told.verdict, Verdict::warning);
  EXPECT_EQ(told.advice, "rm " + pattern);
  EXPECT_EQ(leftovers_of_mpi("/no such folder").files, 0);
  std::filesystem::remove_all(folder);
}

TEST(Ring, ForbiddenOrAbsentStopsNothing) {
  EXPECT_EQ(ring_finding(0, "").verdict, Verdict::good);
  EXPECT_THAT(ring_finding(0, "built without liburing").found, HasSubstr("built without liburing"));
  for (int error : {EPERM, ENOSYS, ENOMEM}) {
    EXPECT_EQ(ring_finding(error, "").verdict, Verdict::warning);
    EXPECT_EQ(ring_finding(error, "").stops, Exit::kFinished);
  }
  EXPECT_THAT(ring_finding(EPERM, "").found, HasSubstr("forbidden"));
}

TEST(Scratch, IsWrittenOrTrainingCannotBe) {
  const Finding written = scratch_finding("/tmp");
  EXPECT_NE(written.verdict, Verdict::missing) << written.found;
  EXPECT_GT(written.figure, 0);
  const Finding absent = scratch_finding("/no/such/folder");
  EXPECT_EQ(absent.verdict, Verdict::missing);
  EXPECT_EQ(absent.stops, Exit::kIo);
  EXPECT_THAT(absent.found, HasSubstr("No such file"));
}

SettingTrial trial(int depth, double mixed, bool uring = true) {
  return {.setting = {.depth = depth, .uring = uring, .threads = 4}, .mixed = mixed};
}

TEST(Nvme, KeepsTheDefaultsUnlessAnotherSettingIsClearlyBetter) {
  EXPECT_EQ(best_trial({trial(8, 2.0e9), trial(32, 2.05e9)}).setting.depth, 8);
  EXPECT_EQ(best_trial({trial(8, 2.0e9), trial(32, 2.5e9), trial(2, 1e9)}).setting.depth, 32);
  EXPECT_EQ(best_trial({trial(8, 2.0e9), trial(16, 9e9, false)}).setting.depth, 8)
      << "no key asks for threads where io_uring works";
  EXPECT_EQ(best_trial({trial(8, 1e9, false), trial(16, 2e9, false)}).setting.depth, 16);
  EXPECT_EQ(disk_settings(true).front().block_bytes, 1048576) << "what inputs/reference.toml says";
  EXPECT_EQ(disk_settings(true).front().depth, 8);
  for (const tiers::DiskSetting& setting : disk_settings(false)) EXPECT_FALSE(setting.uring);
}

TEST(Nvme, RecommendsATableToPaste) {
  const Finding ring = nvme_choice("/nvme", trial(32, 2e9));
  EXPECT_THAT(ring.found, HasSubstr("/nvme: 1024 KiB x 32 by io_uring"));
  EXPECT_THAT(ring.found, HasSubstr("10^9 parameters passes in 10.0 s a step"));
  EXPECT_THAT(ring.advice, HasSubstr("[aio]\nblock_size = 1048576\nqueue_depth = 32"));
  EXPECT_THAT(ring.advice, Not(HasSubstr("intra_op_parallelism")));
  EXPECT_THAT(nvme_choice("/nvme", trial(8, 2e9, false)).advice,
              HasSubstr("intra_op_parallelism = 4"));
}

}  // namespace
}  // namespace zero::machine
