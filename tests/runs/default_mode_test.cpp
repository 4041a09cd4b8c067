// Ranks: 1
// The promise of equal bits where runs need not be reproducible: two stages at a time.

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/one_outcome.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {
namespace {

/// Orders and sizes in which the same step can be done.
std::vector<plan::Request> over_schedules(const plan::Request& plain) {
  std::vector<plan::Request> all(5, plain);
  all[1].overlap = false;
  all[2].reduce_bucket_numel = 1000;
  all[2].gather_bucket_numel = 600;
  all[3].prefetch_numel = all[3].keep_below_numel = all[3].keep_distance_numel = 0;
  all[4].prefetch_numel = 0;
  all[4].keep_distance_numel = 1'000'000'000;
  return all;
}

/// `which` counts through the choices of recompute.
Case with_recompute(const plan::Request& request, int which) {
  Case c{.request = request, .steps = few_steps(request.compute)};
  if (which % 4 == 3) {
    c.blocks = kFirstBlock;
  } else {
    c.recompute = graph::Recompute(which % 4);
  }
  return c;
}

/// Two stages have one outcome, under every schedule.
void expect_one_outcome_of_a_pair(Dtype compute, int ranks, int pair) {
  OneOutcome one;
  int turn = ranks;
  for (int stage : {pair, pair + 1}) {
    plan::Request plain = request_of(compute, ranks, stage, 3 * ranks);
    plain.reproducible = false;
    for (const plan::Request& request : over_schedules(plain)) {
      one.expect(with_recompute(request, turn++));
    }
  }
}

// Default numerics: at one rank count stages 0 and 1 agree, and stages 2 and 3 agree, whatever the
// schedule and the recompute choice. Over the rank counts each schedule meets each choice.
TEST(DefaultMode, StagesAgreeInPairsWhateverTheScheduleAndTheRecomputeChoice) {
  for (Dtype compute : kPrecisions) {
    for (int ranks : {1, 2, 3, 4}) {
      for (int pair : {0, 2}) expect_one_outcome_of_a_pair(compute, ranks, pair);
    }
  }
}

}  // namespace
}  // namespace zero::run
