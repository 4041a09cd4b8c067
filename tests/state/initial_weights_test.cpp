// Ranks: 1
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/held_state.hpp"
#include "zero/kernels/initialise.hpp"
#include "zero/kernels/optimizer.hpp"
#include "zero/setup/build.hpp"
#include "zero/state/state_view.hpp"

namespace zero::state {
namespace {

constexpr int kRanks = 4;

setup::Build tiny_build(int64_t stage, bool bf16) {
  RunConfig config = testing::tiny(stage, bf16 ? Dtype::bf16 : Dtype::f32);
  config.model.numbers.counts["layers"] = 1;
  return setup::build(config, {.ranks = kRanks});
}

using Buffers = std::vector<std::vector<std::byte>>;

Buffers filled(const plan::Plan& plan, int rank) {
  Buffers buffers;
  for (const plan::Buffer& buffer : plan.buffers) buffers.emplace_back(size_t(buffer.bytes));
  fill_initial_weights(
      {.plan = &plan,
       .rank = rank,
       .bytes = [&](int32_t buffer) { return std::span(buffers[size_t(buffer)]); }},
      3, 2);
  return buffers;
}

template <class T>
T at(const Buffers& buffers, int32_t buffer, int64_t i) {
  return reinterpret_cast<const T*>(buffers[size_t(buffer)].data())[i];
}

TEST(InitialWeights, EachRankOfStageThreeFillsItsShardOfTheWhole) {
  const setup::Build whole = tiny_build(0, false), sharded = tiny_build(3, false);
  const Buffers reference = filled(whole.plan, 0);
  for (int rank = 0; rank < kRanks; ++rank) {
    const Buffers mine = filled(sharded.plan, rank);
    for (size_t u = 0; u < whole.plan.units.size(); ++u) {
      const plan::Unit& unit = sharded.plan.units[u];
      for (int64_t i = 0; i < unit.shard_numel; ++i) {
        ASSERT_EQ(at<float>(mine, unit.weight, i),
                  at<float>(reference, whole.plan.units[u].weight, rank * unit.shard_numel + i))
            << "unit " << unit.name << " rank " << rank << " element " << i;
      }
    }
  }
}

TEST(InitialWeights, AStateThatBeginsWithANumberHasItInEveryElementAndNotBetweenThem) {
  static constexpr OptimizerState kStates[] = {{.name = "momentum", .initial = 1.5f},
                                               {.name = "variance"}};
  setup::Build sharded = tiny_build(2, true);
  sharded.plan.request.optimizer.states = kStates;
  for (int rank = 0; rank < kRanks; ++rank) {
    const Buffers mine = filled(sharded.plan, rank);
    for (const plan::Unit& unit : sharded.plan.units) {
      std::vector<float> wanted(size_t(unit.numel), 0.0f);
      for (const plan::UnitParameter& place : unit.parameters) {
        const auto& parameter = sharded.plan.graphs[0].parameters[size_t(place.parameter)];
        std::fill_n(wanted.begin() + place.begin, parameter.real_numel, 1.5f);
      }
      for (int64_t i = 0; i < unit.shard_numel; ++i) {
        ASSERT_EQ(at<float>(mine, unit.states[0], i), wanted[size_t(rank * unit.shard_numel + i)]);
        ASSERT_EQ(at<float>(mine, unit.states[1], i), 0.0f);
      }
    }
  }
}

TEST(InitialWeights, RowsThatPadTheVocabularyAreZero) {
  const setup::Build whole = tiny_build(0, false);
  const Buffers buffers = filled(whole.plan, 0);
  const plan::Unit& embedding = whole.plan.units[0];
  const plan::UnitParameter& table = embedding.parameters[0];
  ASSERT_EQ(table.numel, 128 * 64);
  EXPECT_NE(at<float>(buffers, embedding.weight, table.begin + 100 * 64 - 1), 0.0f);
  for (int64_t e = 100 * 64; e < table.numel; ++e) {
    ASSERT_EQ(at<float>(buffers, embedding.weight, table.begin + e), 0.0f) << "element " << e;
  }
}

TEST(InitialWeights, WeightAndRestMakeTheFp32Value) {
  const setup::Build build = tiny_build(0, true);
  const Buffers buffers = filled(build.plan, 0);
  const graph::Graph& graph = build.plan.graphs[0];
  for (const plan::Unit& unit : build.plan.units) {
    for (const plan::UnitParameter& place : unit.parameters) {
      const graph::Parameter& parameter = graph.parameters[size_t(place.parameter)];
      if (parameter.init != graph::Init::normal) continue;
      const float expected =
          parameter.deviation * kernels::initial_normal(3, uint32_t(place.parameter), 5);
      EXPECT_EQ(kernels::join_master(at<bf16>(buffers, unit.weight, place.begin + 5),
                                     at<int16_t>(buffers, unit.low, place.begin + 5)),
                expected)
          << graph[parameter.tensor].name;
    }
  }
}

}  // namespace
}  // namespace zero::state
