// Ranks: 1
#include "zero/io/tiers/disk_probe.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "zero/base/error.hpp"

namespace zero::tiers {
namespace {

TEST(DiskProbe, MeasuresEachPatternAndCountsWhatItWrites) {
  char folder[] = "disk_probe_test_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  {
    DiskProbe probe(folder);
    const int64_t filled = probe.bytes_written();
    EXPECT_GT(filled, 0);
    EXPECT_LE(filled, DiskProbe::kBytes);
    const DiskSetting setting{.uring = false, .threads = 2};
    EXPECT_GT(probe.bytes_per_second(setting, aio::Pattern::read, 0.05), 0);
    EXPECT_EQ(probe.bytes_written(), filled) << "reading writes nothing";
    EXPECT_GT(probe.bytes_per_second(setting, aio::Pattern::write, 0.05), 0);
    EXPECT_GT(probe.bytes_written(), filled);
    EXPECT_GT(
        probe.bytes_per_second({.block_bytes = 4 << 20, .uring = false}, aio::Pattern::mixed, 0.05),
        0);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  EXPECT_TRUE(std::filesystem::remove(folder));
}

TEST(DiskProbe, RefusesAFolderThatIsNone) { EXPECT_THROW(DiskProbe("no_such_folder"), Error); }

}  // namespace
}  // namespace zero::tiers
