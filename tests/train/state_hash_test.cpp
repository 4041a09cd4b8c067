// Ranks: 1 2 4
#include "zero/train/state_hash.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/held_state.hpp"
#include "zero/base/sha256.hpp"
#include "zero/kernels/initialise.hpp"
#include "zero/train/build.hpp"
#include "zero/train/initial_weights.hpp"
#include "zero/train/state_reader.hpp"

namespace zero::train {
namespace {

using testing::Held, testing::tiny;

constexpr uint64_t kSeed = 7;

float moment(int32_t parameter, int64_t element, float sign) {
  return sign * float(parameter + 1) / float(element + 1);
}

void fill_moments(const StateView& view) {
  for (const plan::Unit& unit : view.plan->units) {
    const UnitRange mine = held_range(unit, unit.optimizer_sharded, view.rank);
    for (const plan::Placement& place : unit.placements) {
      for (int64_t e = 0; e < place.numel; ++e) {
        const int64_t i = place.begin + e;
        if (i < mine.begin || i >= mine.end) continue;
        view.values<float>(unit.momentum)[size_t(i - mine.begin)] = moment(place.parameter, e, -1);
        view.values<float>(unit.variance)[size_t(i - mine.begin)] = moment(place.parameter, e, 1);
      }
    }
  }
}

float initial(const graph::Parameter& parameter, int32_t index, int64_t element) {
  if (parameter.init == graph::Init::ones) return 1;
  if (parameter.init == graph::Init::zeros) return 0;
  return parameter.deviation * kernels::initial_normal(kSeed, uint32_t(index), element);
}

/// The same digest by one loop over everything.
std::string serial_reference(const graph::Graph& graph) {
  std::map<std::string, int32_t> by_name;
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    by_name[graph[graph.parameters[p].tensor].name] = int32_t(p);
  }
  Sha256 hash;
  for (const auto& [name, p] : by_name) {
    const graph::Parameter& parameter = graph.parameters[size_t(p)];
    const int64_t numel = name == "wte.weight" ? 100 * 64 : graph[parameter.tensor].shape.numel();
    std::vector<float> stream;
    for (int64_t e = 0; e < numel; ++e) stream.push_back(initial(parameter, p, e));
    for (int64_t e = 0; e < numel; ++e) stream.push_back(moment(p, e, -1));
    for (int64_t e = 0; e < numel; ++e) stream.push_back(moment(p, e, 1));
    hash.add(std::as_bytes(std::span(stream)));
  }
  return hash.digest();
}

TEST(StateHash, IsTheSameAtEveryStageRankCountAndPrecision) {
  const Peers peers;
  for (int64_t stage = 0; stage <= 3; ++stage) {
    for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
      RunConfig config = tiny(stage);
      config.bf16.enabled = compute == Dtype::bf16;
      config.fp16.enabled = compute == Dtype::f16;
      const Build built = build(config, {.ranks = peers.ranks()});
      Held held(built.plan, peers.rank());
      fill_initial_weights(held.view(), kSeed, 2);
      fill_moments(held.view());
      const std::string digest = state_sha256(held.view(), peers);
      const std::string expected = peers.rank() == 0 ? serial_reference(built.plan.graphs[0]) : "";
      EXPECT_EQ(digest, expected) << "stage " << stage << ", " << name_of(compute);
    }
  }
}

TEST(StateHash, ChangesWithOneBitOfOneMoment) {
  const Peers peers;
  const Build built = build(tiny(3), {.ranks = peers.ranks()});
  Held held(built.plan, peers.rank());
  fill_initial_weights(held.view(), kSeed, 1);
  const std::string before = state_sha256(held.view(), peers);
  const plan::Unit& last = built.plan.units.back();
  const bool changes = peers.rank() == 0;
  if (changes) held.view().values<float>(last.variance)[0] = 1e-30f;
  const std::string after = state_sha256(held.view(), peers);
  if (peers.rank() == 0) {
    EXPECT_NE(before, after);
  }
}

}  // namespace
}  // namespace zero::train
