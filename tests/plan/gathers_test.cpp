// Ranks: 1
#include "src/plan/gathers.hpp"

#include <gtest/gtest.h>

namespace zero::plan {
namespace {

/// Six units of 10 elements, each used at its own position.
struct InARow {
  std::vector<Unit> units;
  std::vector<Gather> gathers;
  InARow() {
    for (int32_t u = 0; u < 6; ++u) {
      units.push_back({.name = "u", .numel = 10});
      gathers.push_back({.unit = u, .first = u, .last = u});
    }
  }
  std::vector<int32_t> placed(const Prefetch& prefetch) {
    place_prefetch(units, prefetch, gathers);
    std::vector<int32_t> ahead;
    for (const Gather& gather : gathers) ahead.push_back(gather.ahead);
    return ahead;
  }
};

using Places = std::vector<int32_t>;

TEST(PlacePrefetch, IssuesEveryUnitAtItsUseWhereNothingIsWantedAhead) {
  EXPECT_EQ(InARow().placed({.ahead_numel = 0, .live_numel = 1000}), (Places{0, 1, 2, 3, 4, 5}));
}

TEST(PlacePrefetch, IssuesSoManyElementsAheadAndOneUnitAtLeast) {
  EXPECT_EQ(InARow().placed({.ahead_numel = 1, .live_numel = 1000}), (Places{0, 0, 1, 2, 3, 4}));
  EXPECT_EQ(InARow().placed({.ahead_numel = 20, .live_numel = 1000}), (Places{0, 0, 0, 1, 2, 3}));
}

// zero.stage3_max_live_parameters: what is issued ahead counts with what is in use.
TEST(PlacePrefetch, IssuesNothingBeyondTheElementsThatMayBeGathered) {
  EXPECT_EQ(InARow().placed({.ahead_numel = 1000, .live_numel = 30}), (Places{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(InARow().placed({.ahead_numel = 1000, .live_numel = 20}), (Places{0, 0, 1, 2, 3, 4}));
  EXPECT_EQ(InARow().placed({.ahead_numel = 1000, .live_numel = 19}), (Places{0, 1, 2, 3, 4, 5}));
}

TEST(PlacePrefetch, IssuesNothingSoEarlyThatItsBytesWouldBeNeededTwice) {
  EXPECT_EQ(InARow().placed({.ahead_numel = 1000, .live_numel = 1000, .longest = 3}),
            (Places{0, 0, 0, 1, 2, 3}));
}

}  // namespace
}  // namespace zero::plan
