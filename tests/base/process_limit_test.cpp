// Ranks: 1
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

#include "zero/base/process.hpp"

namespace zero {
namespace {

TEST(ProcessLimitDeathTest, OfAddressSpaceIsThatOfThisProcess) {
  const auto limited = [] {
    const rlimit space{rlim_t(1) << 45, RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &space) != 0) std::exit(2);
    std::exit(process_limit(RLIMIT_AS) == int64_t(1) << 45 ? 0 : 1);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace zero
