// Ranks: 1
#include "zero/device/region.hpp"

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <string>
#include <vector>

namespace zero {
namespace {

std::vector<std::string> seen;

TEST(Region, IsPushedAndPoppedForAToolAndOnlyWithAName) {
  if (regions_are_of_threads()) GTEST_SKIP() << "NVTX has them, which only a profiler shows";
  EXPECT_FALSE(tool_listens());
  Kokkos::Tools::Experimental::set_push_region_callback(
      [](const char* name) { seen.push_back(std::string("+") + name); });
  Kokkos::Tools::Experimental::set_pop_region_callback([] { seen.push_back("-"); });
  {
    const Region none("");
    const Region region("adam h.3");
    seen.push_back("inside");
  }
  Kokkos::Tools::Experimental::set_push_region_callback(nullptr);
  Kokkos::Tools::Experimental::set_pop_region_callback(nullptr);
  EXPECT_EQ(seen, (std::vector<std::string>{"+adam h.3", "inside", "-"}));
}

}  // namespace
}  // namespace zero
