// Ranks: 1 2 4
#include "zero/state/unit_digests.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/held_state.hpp"
#include "zero/setup/build.hpp"

namespace zero::state {
namespace {

using testing::Held;
using testing::tiny;

/// Another number for each place of each state.
void fill(const StateView& view) {
  for (const plan::Unit& unit : view.plan->units) {
    const UnitRange held = held_range(unit, unit.optimizer_sharded, view.rank);
    for (const StateKind kind : state_kinds(*view.plan, unit)) {
      for (const plan::UnitParameter& place : unit.parameters) {
        const int64_t begin = std::max(held.begin, place.begin);
        const int64_t end = std::min(held.end, place.begin + place.numel);
        if (begin >= end) continue;
        std::vector<float> values;
        for (int64_t i = begin; i < end; ++i) values.push_back(1.0f / float(3 + int(kind) + i));
        write_state(view, unit, kind, begin, values);
      }
    }
  }
}

using Digests = std::vector<uint64_t>;

Digests digests_of(const StateView& view, const launch::Peers& peers, int threads = 1) {
  UnitDigests digests(*view.plan, threads);
  digests.add_own(view, peers.ranks());
  digests.join(peers);
  Digests all;
  for (const UnitDigests::Row& row : digests.rows()) all.push_back(row.digest);
  return all;
}

RunConfig tiny_of(int64_t stage, Dtype compute) {
  RunConfig config = tiny(stage, compute);
  config.model.numbers.counts["vocab_size"] = 9000;  // several pieces that are read at a time
  return config;
}

TEST(UnitDigests, AreTheSameAtEveryStageRankCountAndThreadCount) {
  const launch::Peers peers;
  std::map<Dtype, Digests> first;
  for (int64_t stage = 0; stage <= 3; ++stage) {
    for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
      const setup::Build built = setup::build(tiny_of(stage, compute), {.ranks = peers.ranks()});
      Held held(built.plan, peers.rank());
      fill(held.view());
      for (const int threads : {1, 3}) {
        const Digests digests = digests_of(held.view(), peers, threads);
        EXPECT_EQ(digests.size(), 3 * built.plan.units.size());
        if (first[compute].empty()) first[compute] = digests;
        EXPECT_EQ(digests, first[compute]) << "stage " << stage << ", " << name_of(compute);
      }
    }
  }
  EXPECT_EQ(first[Dtype::f32], first[Dtype::bf16]) << "masters are fp32 in both";
}

TEST(UnitDigests, TellWhichStateOfWhichUnitHasAnotherBit) {
  const launch::Peers peers;
  const setup::Build built = setup::build(tiny_of(1, Dtype::f32), {.ranks = peers.ranks()});
  Held held(built.plan, peers.rank());
  fill(held.view());
  const Digests before = digests_of(held.view(), peers);
  const plan::Unit& unit = built.plan.units[1];
  if (peers.rank() == peers.ranks() - 1) {
    const int64_t last = unit.parameters.back().begin;
    const UnitRange own = held_range(unit, true, peers.rank());
    auto* const bits = reinterpret_cast<uint32_t*>(held.view().bytes(unit.states[1]).data());
    bits[std::max(own.begin, last) - own.begin] ^= 1;
  }
  const Digests after = digests_of(held.view(), peers);
  for (size_t row = 0; row < before.size(); ++row)
    EXPECT_EQ(before[row] != after[row], row == 3 * 1 + 2) << "row " << row;
}

TEST(UnitDigests, TellEqualBlocksAtTwoPlacesApart) {
  const launch::Peers peers;
  const setup::Build built = setup::build(tiny_of(0, Dtype::f32), {.ranks = peers.ranks()});
  const plan::Unit& unit = built.plan.units[0];
  std::vector<Digests> seen;
  for (const int64_t block : {int64_t(0), int64_t(1)}) {
    Held held(built.plan, peers.rank());
    held.view().values<float>(unit.weight)[size_t(2048 * block)] = 1;
    seen.push_back(digests_of(held.view(), peers));
  }
  EXPECT_NE(seen[0][0], seen[1][0]);
  EXPECT_EQ(seen[0][1], seen[1][1]);
}

}  // namespace
}  // namespace zero::state
