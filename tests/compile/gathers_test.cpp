// Ranks: 1
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "src/compile/body_builder.hpp"

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

/// Stretches over which units of 10 and of 7 elements are gathered, used in turn: 10, 7, 10.
std::vector<std::pair<int32_t, int32_t>> stretches(const Request& request) {
  const std::vector<Unit> units = {{.name = "ten", .numel = 10}, {.name = "seven", .numel = 7}};
  UnitUses uses;
  uses.reads = {{0}, {1}, {0}};
  std::vector<std::pair<int32_t, int32_t>> found;
  for (const Gather& gather : find_gathers(request, units, uses, 1)) {
    found.emplace_back(gather.first, gather.last);
  }
  return found;
}

using Stretches = std::vector<std::pair<int32_t, int32_t>>;
const Stretches kKept = {{0, 2}, {1, 1}}, kAgain = {{0, 0}, {1, 1}, {2, 2}};

TEST(FindGathers, KeepsAUnitOverAsManyElementsAsItMay) {
  Request request;
  request.keep_below_numel = 0;
  request.keep_distance_numel = 7;
  request.live_numel = 100;
  EXPECT_EQ(stretches(request), kKept);
  request.keep_distance_numel = 6;
  EXPECT_EQ(stretches(request), kAgain);
}

TEST(FindGathers, KeepsAUnitThatIsNoLargerThanItMay) {
  Request request;
  request.keep_distance_numel = 0;
  request.keep_below_numel = 10;
  request.live_numel = 100;
  EXPECT_EQ(stretches(request), kKept);
  request.keep_below_numel = 9;
  EXPECT_EQ(stretches(request), kAgain);
}

TEST(FindGathers, KeepsNoUnitBeyondTheElementsThatMayBeGathered) {
  Request request;
  request.keep_distance_numel = 100;
  request.live_numel = 17;
  EXPECT_EQ(stretches(request), kKept);
  request.live_numel = 16;
  EXPECT_EQ(stretches(request), kAgain);
}

// The first unit stays over the next two, so that the second one does not fit beside the third.
TEST(FindGathers, CountsWhatIsKeptAlreadyInEveryRunBetween) {
  const std::vector<Unit> units = {
      {.name = "a", .numel = 10}, {.name = "b", .numel = 7}, {.name = "c", .numel = 7}};
  UnitUses uses;
  uses.reads = {{0}, {1}, {2}, {0}, {1}};
  Request request;
  request.keep_distance_numel = 100;
  request.live_numel = 20;
  EXPECT_EQ(find_gathers(request, units, uses, 1).size(), 4u);
  request.live_numel = 24;
  EXPECT_EQ(find_gathers(request, units, uses, 1).size(), 3u);
}

}  // namespace
}  // namespace zero::plan
