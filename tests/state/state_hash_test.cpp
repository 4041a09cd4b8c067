// Ranks: 1 2 4
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <vector>

#include "tests/support/held_state.hpp"
#include "zero/base/digests.hpp"
#include "zero/base/text.hpp"
#include "zero/kernels/initialise.hpp"
#include "zero/setup/build.hpp"
#include "zero/state/state_view.hpp"

namespace zero::state {
namespace {

using testing::Held;
using testing::tiny;

constexpr uint64_t kSeed = 7;

float moment(int32_t parameter, int64_t element, float sign) {
  return sign * float(parameter + 1) / float(element + 1);
}

void fill_moments(const StateView& view) {
  for (const plan::Unit& unit : view.plan->units) {
    const UnitRange mine = held_range(unit, unit.optimizer_sharded, view.rank);
    for (const plan::UnitParameter& place : unit.parameters) {
      for (int64_t e = 0; e < place.numel; ++e) {
        const int64_t i = place.begin + e;
        if (i < mine.begin || i >= mine.end) continue;
        view.values<float>(unit.states[0])[size_t(i - mine.begin)] = moment(place.parameter, e, -1);
        view.values<float>(unit.states[1])[size_t(i - mine.begin)] = moment(place.parameter, e, 1);
      }
    }
  }
}

float initial(const graph::Parameter& parameter, int32_t index, int64_t element) {
  if (parameter.init == graph::Init::ones) return 1;
  if (parameter.init == graph::Init::zeros) return 0;
  return parameter.deviation * kernels::initial_normal(kSeed, uint32_t(index), element);
}

/// A vocabulary whose table has more elements than one block, though it is cut among ranks.
constexpr int64_t kVocabulary = 17000, kBlockNumel = 1 << 20;

RunConfig tiny_of_blocks(int64_t stage, Dtype compute, int64_t vocabulary = kVocabulary) {
  RunConfig config = tiny(stage, compute);
  config.model.numbers.counts["vocab_size"] = vocabulary;
  return config;
}

/// Every tensor in the order of hashes: master, momentum and variance of each parameter by name.
std::vector<std::vector<float>> tensors_of(const graph::Graph& graph, int64_t vocabulary) {
  std::map<std::string, int32_t> by_name;
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    by_name[graph[graph.parameters[p].tensor].name] = int32_t(p);
  }
  std::vector<std::vector<float>> tensors;
  for (const auto& [name, p] : by_name) {
    const graph::Parameter& parameter = graph.parameters[size_t(p)];
    const bool is_table = name == "wte.weight";
    const int64_t numel = is_table ? vocabulary * 64 : graph[parameter.tensor].shape.numel();
    for (const float sign : {0.0f, -1.0f, 1.0f}) {
      std::vector<float>& values = tensors.emplace_back();
      for (int64_t e = 0; e < numel; ++e) {
        values.push_back(sign == 0 ? initial(parameter, p, e) : moment(p, e, sign));
      }
    }
  }
  return tensors;
}

std::string sha256_reference(const graph::Graph& graph) {
  Sha256 hash;
  for (const std::vector<float>& tensor : tensors_of(graph, 100)) {
    hash.add(std::as_bytes(std::span(tensor)));
  }
  return hash.digest();
}

std::string xxh3_reference(const graph::Graph& graph, int64_t vocabulary = kVocabulary) {
  Xxh3 whole;
  for (const std::vector<float>& tensor : tensors_of(graph, vocabulary)) {
    std::span<const float> rest(tensor);
    while (!rest.empty()) {
      const auto block = rest.first(std::min(rest.size(), size_t(kBlockNumel)));
      const Xxh3Digest digest = xxh3_of(std::as_bytes(block));
      whole.add(std::as_bytes(std::span(digest)));
      rest = rest.subspan(block.size());
    }
  }
  return hex_of(whole.digest());
}

TEST(StateHash, IsTheSameAtEveryStageRankCountAndPrecision) {
  const launch::Peers peers;
  for (int64_t stage = 0; stage <= 3; ++stage) {
    for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
      const setup::Build built = setup::build(tiny(stage, compute), {.ranks = peers.ranks()});
      Held held(built.plan, peers.rank());
      fill_initial_weights(held.view(), kSeed, 2);
      fill_moments(held.view());
      const std::string digest = state_sha256(held.view(), peers);
      const std::string expected = peers.rank() == 0 ? sha256_reference(built.plan.graphs[0]) : "";
      EXPECT_EQ(digest, expected) << "stage " << stage << ", " << name_of(compute);
    }
  }
}

TEST(StateHash, OfBlocksIsTheSameForAnyThreadsStageRankCountAndPrecision) {
  const launch::Peers peers;
  std::string expected;
  for (int64_t stage = 0; stage <= 3; ++stage) {
    for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
      const setup::Build built =
          setup::build(tiny_of_blocks(stage, compute), {.ranks = peers.ranks()});
      if (expected.empty()) expected = xxh3_reference(built.plan.graphs[0]);
      Held held(built.plan, peers.rank());
      fill_initial_weights(held.view(), kSeed, 2);
      fill_moments(held.view());
      for (const int threads : {1, 4}) {
        EXPECT_EQ(state_xxh3(held.view(), peers, threads), peers.rank() == 0 ? expected : "")
            << "stage " << stage << ", " << name_of(compute) << ", threads " << threads;
      }
    }
  }
}

TEST(StateHash, OfATensorOfWholeBlocksHasNoFurtherOne) {
  const launch::Peers peers;
  constexpr int64_t kWhole = kBlockNumel / 64;
  const setup::Build built =
      setup::build(tiny_of_blocks(1, Dtype::f32, kWhole), {.ranks = peers.ranks()});
  Held held(built.plan, peers.rank());
  fill_initial_weights(held.view(), kSeed, 2);
  fill_moments(held.view());
  const std::string expected =
      peers.rank() == 0 ? xxh3_reference(built.plan.graphs[0], kWhole) : "";
  EXPECT_EQ(state_xxh3(held.view(), peers, 2), expected);
}

/// Both digests before and after `change` on one rank, on rank 0.
void expect_change(const launch::Peers& peers, Held& held, int changing,
                   const std::function<void()>& change) {
  const std::string sha256 = state_sha256(held.view(), peers);
  const std::string xxh3 = state_xxh3(held.view(), peers, 2);
  if (peers.rank() == changing) change();
  const std::string sha256_after = state_sha256(held.view(), peers);
  const std::string xxh3_after = state_xxh3(held.view(), peers, 2);
  if (peers.rank() != 0) return;
  EXPECT_NE(sha256, sha256_after);
  EXPECT_NE(xxh3, xxh3_after);
}

TEST(StateHash, ChangesWithOneBitOfOneMoment) {
  const launch::Peers peers;
  const setup::Build built = setup::build(tiny(3), {.ranks = peers.ranks()});
  Held held(built.plan, peers.rank());
  fill_initial_weights(held.view(), kSeed, 1);
  const plan::Unit& last = built.plan.units.back();
  expect_change(peers, held, 0, [&] {
    auto* const bits = reinterpret_cast<uint32_t*>(held.view().bytes(last.states[1]).data());
    bits[0] ^= 1;
  });
}

TEST(StateHash, OfBlocksChangesWithEveryRanksLastElement) {
  const launch::Peers peers;
  const setup::Build built = setup::build(tiny_of_blocks(3, Dtype::f32), {.ranks = peers.ranks()});
  Held held(built.plan, peers.rank());
  // The table's shards end within blocks, and what lies behind the last element is padding.
  const auto [unit, range] = locate(built.plan, parameters_by_name(built.plan.graphs[0]).back());
  ASSERT_EQ(range.end - range.begin, kVocabulary * 64);
  for (int rank = 0; rank < peers.ranks(); ++rank) {
    const UnitRange held_there = held_range(*unit, true, rank);
    const int64_t last = std::min(held_there.end, range.end) - 1;
    ASSERT_GE(last, range.begin);
    const std::string before = state_xxh3(held.view(), peers, 2);
    if (peers.rank() == rank) {
      held.view().values<float>(unit->states[0])[size_t(last - held_there.begin)] = 1;
    }
    const std::string after = state_xxh3(held.view(), peers, 2);
    if (peers.rank() == 0) {
      EXPECT_NE(before, after) << "rank " << rank;
    }
  }
}

TEST(StateHash, OfBlocksTellsACopyThatDiffersFromTheOthers) {
  const launch::Peers peers;
  if (peers.ranks() == 1) GTEST_SKIP() << "one rank holds one copy";
  const setup::Build built = setup::build(tiny(0), {.ranks = peers.ranks()});
  Held held(built.plan, peers.rank());
  const std::string before = state_xxh3(held.view(), peers, 1);
  if (peers.rank() == 1) {
    for (const plan::Unit& unit : built.plan.units) {
      for (float& value : held.view().values<float>(unit.states[1])) value = 1;
    }
  }
  const std::string after = state_xxh3(held.view(), peers, 1);
  if (peers.rank() == 0) {
    EXPECT_NE(before, after);
  }
}

}  // namespace
}  // namespace zero::state
