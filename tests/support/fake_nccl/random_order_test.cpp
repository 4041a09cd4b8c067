// Ranks: 2 3 4

// Drawn plans in random orders, whose collectives go through src/comm/gpu/nccl.cpp.

#include "tests/support/random_order.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <vector>

#include "tests/support/fake_nccl/fixture.hpp"
#include "tests/support/one_outcome.hpp"
#include "tests/support/rank_groups.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tiny_plans.hpp"
#include "zero/comm/backends.hpp"

namespace zero::run {
namespace {

using testing::processes;

class RandomOrderOverNccl : public testing::FakeNccl {};

/// A communicator of NCCL for each lane of this process.
class Lanes {
 public:
  Lanes() {
    for (const plan::Lane lane : plan::kCollectiveLanes) {
      made_.push_back(comm::make_nccl({.staging_bytes = 1 << 16}));
      comms_[size_t(lane)] = made_.back().get();
    }
  }
  const LaneComms& comms() const { return comms_; }

 private:
  std::vector<std::unique_ptr<comm::Communicator>> made_;
  LaneComms comms_{};
};

plan::Request for_all_processes(plan::Request request) {
  request.ranks = processes();
  request.group_ranks = 0;
  if (!std::has_single_bit(unsigned(processes()))) request.reproducible = false;
  return request;
}

void expect_the_bits_of_threads(const plan::Request& request, uint64_t seed) {
  const plan::Plan plan = testing::tiny_plan(request, testing::random_model(seed));
  const Rules rules = testing::tiny_rules(request.compute);
  testing::ThreadRanks threads(plan, rules);
  const testing::Outcome expected = testing::train(threads, plan, 2);
  for (const bool exact : {false, true}) {
    fake_nccl::faults().strict = !exact;  // copies lie in no window
    const Lanes lanes;
    testing::RandomRanks random(plan, rules,
                                {.seed = seed, .exact_copies = exact, .comms = lanes.comms()});
    testing::expect_same(testing::train(random, plan, 2), expected);
  }
}

TEST_F(RandomOrderOverNccl, PlansDrawnByLotHaveTheBitsOfThreads) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    expect_the_bits_of_threads(for_all_processes(testing::random_request(seed)), seed);
  }
}

TEST_F(RandomOrderOverNccl, PlansOverAllTiersHaveTheBitsOfThreads) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    expect_the_bits_of_threads(for_all_processes(testing::random_tiered_request(seed)), seed);
  }
}

// So the tests above can fail.
TEST_F(RandomOrderOverNccl, RanksWithOrdersOfTheirOwnAreNoticed) {
  plan::Request request{.stage = 3, .ranks = processes(), .micro_batches = 2};
  request.reduce_bucket_numel = request.gather_bucket_numel = 1000;
  const plan::Plan plan = testing::tiny_plan(request);
  const uint64_t seed = comm::World().rank() == 0 ? 1 : 2;
  const auto train = [&] {
    const Lanes lanes;
    testing::RandomRanks random(plan, testing::tiny_rules(Dtype::f32),
                                {.seed = seed, .comms = lanes.comms()});
    testing::train(random, plan, 1);
  };
  EXPECT_THROW(train(), Error);
  // A rank may hear of it from another one.
  if (!fake_nccl::violation().empty()) expect_violation("");
}

}  // namespace
}  // namespace zero::run
