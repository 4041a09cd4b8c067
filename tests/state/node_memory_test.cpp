// Ranks: 1
#include "src/state/node_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/tiny_plans.hpp"

namespace zero::state {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::refusal_of;

std::string refusal(const std::vector<HostDemand>& ranks, int64_t available) {
  return refusal_of(Exit::kDoesNotFit, [&] { require_together(ranks, "n1", available); });
}

TEST(NodeMemory, IsWantedByTheRanksOfANodeTogether) {
  const std::vector<HostDemand> ranks = {{"n1", 3 << 10}, {"n2", 9 << 10}, {"n1", 2 << 10}};
  EXPECT_EQ(refusal(ranks, 5 << 10), "") << "those of n2 are elsewhere";
  EXPECT_THAT(refusal(ranks, (5 << 10) - 1),
              AllOf(HasSubstr("2 ranks on n1 take 5.00 KiB of host memory together"),
                    HasSubstr("of which 5.00 KiB are available"), HasSubstr("fewer ranks a node")));
  EXPECT_EQ(refusal(ranks, -1), "") << "nobody knows";
}

TEST(NodeMemory, OfAPlanCountsTheDeviceWhereItIsTheHost) {
  setup::Build build;
  build.plan = testing::tiny_plan({.stage = 1, .optimizer_home = plan::Tier::host});
  build.copy_bytes = 7;
  const auto arena = [&](plan::Tier tier) { return build.plan.arena_bytes[size_t(tier)]; };
  ASSERT_GT(arena(plan::Tier::host), 0);
  EXPECT_EQ(host_demand(build), arena(plan::Tier::host) + arena(plan::Tier::device) + 7);
}

}  // namespace
}  // namespace zero::state
