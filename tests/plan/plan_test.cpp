// Ranks: 1

#include "zero/plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/model/gpt2.hpp"
#include "tests/support/tiny_plans.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/compile/compile.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::plan {
namespace {

TEST(Compile, GivesTheSamePlanTwice) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Request request = testing::random_request(seed);
    const testing::TinyModel model = testing::random_model(seed);
    EXPECT_EQ(testing::tiny_plan(request, model).hash(), testing::tiny_plan(request, model).hash());
  }
}

TEST(Compile, HashTellsPlansApart) {
  const Request request{.stage = 2, .ranks = 2};
  Request other = request;
  other.reduce_bucket_numel = 1000;
  EXPECT_NE(testing::tiny_plan(request).hash(), testing::tiny_plan(other).hash());
}

TEST(Compile, HashTellsNumbersApartByAnyOfTheirBytes) {
  Plan plan = testing::tiny_plan({.stage = 2, .ranks = 2});
  const uint64_t before = plan.hash();
  for (int byte = 0; byte < 8; ++byte) {
    int64_t& offset = plan.bodies[kStep].ops[0].operands[0].offset;
    offset ^= int64_t(1) << (8 * byte);
    EXPECT_NE(plan.hash(), before) << "byte " << byte;
    offset ^= int64_t(1) << (8 * byte);
  }
  EXPECT_EQ(plan.hash(), before);
}

TEST(Compile, UnitsAreAlignedAndPaddedToBlocksOfEveryRank) {
  const Plan plan = testing::tiny_plan({.stage = 3, .ranks = 4});
  for (const Unit& unit : plan.units) {
    EXPECT_EQ(unit.numel % (4 * kBlockNumel), 0) << unit.name;
    EXPECT_EQ(unit.shard_numel * 4, unit.numel) << unit.name;
    for (const UnitParameter& place : unit.parameters)
      EXPECT_EQ(place.begin % kTensorAlignNumel, 0);
  }
}

TEST(Compile, NoPieceExceedsItsBucket) {
  const Plan plan = testing::tiny_plan(
      {.stage = 3, .ranks = 2, .reduce_bucket_numel = 1000, .gather_bucket_numel = 300});
  int pieces = 0;
  for (const PlanOp& op : plan.bodies[kStep].ops) {
    const int64_t limit = op.kind == Kind::all_gather ? 300 : 1000;
    if (op.kind != Kind::all_gather && op.kind != Kind::reduce_scatter) continue;
    EXPECT_LE(2 * op.piece_numel, limit);
    ++pieces;
  }
  EXPECT_GT(pieces, 50);
}

TEST(Compile, RefusesReproducibleSumsOverThreeRanks) {
  try {
    testing::tiny_plan({.ranks = 3, .reproducible = true});
    FAIL() << "three ranks have no balanced tree";
  } catch (const SettingsError& error) {
    EXPECT_EQ(error.keys().front(), "numerics.reproducible");
    EXPECT_NE(std::string(error.what()).find("start 2 ranks"), std::string::npos) << error.what();
  }
}

TEST(Compile, RefusesABucketOfFewerElementsThanRanks) {
  const auto key_refused = [](const Request& request) -> std::string {
    try {
      testing::tiny_plan(request);
    } catch (const SettingsError& error) {
      EXPECT_NE(error.problem().find("write 4 or more"), std::string::npos) << error.what();
      return error.keys().front();
    }
    return "";
  };
  EXPECT_EQ(key_refused({.stage = 1, .ranks = 4, .reduce_bucket_numel = 3}),
            "zero.reduce_bucket_size");
  EXPECT_EQ(key_refused({.stage = 1, .ranks = 4, .gather_bucket_numel = 3}),
            "zero.allgather_bucket_size");
}

/// Bytes of a step's fp32 sums that products write or add to, and that other ops do.
struct Summed {
  int64_t in_products, apart;
  bool operator==(const Summed&) const = default;
};

Summed summed(const Plan& plan) {
  Summed bytes{};
  for (const PlanOp& op : plan.bodies[kStep].ops) {
    if (op.kind != Kind::accumulate && !op.sums) continue;
    const graph::Graph& graph = plan.graphs[0];
    const size_t sum = op.sums ? graph.ops[size_t(op.graph_op)].inputs.size() : 1;
    EXPECT_EQ(op.operands[sum].mode, op.add ? Mode::update : Mode::write);
    EXPECT_TRUE(!op.sums || op.add == (op.micro > 0)) << "first it is written";
    (op.sums ? bytes.in_products : bytes.apart) += op.operands[sum].bytes;
  }
  return bytes;
}

TEST(SumsInProducts, CoverEveryMatrixOfABlockAndNothingTwice) {
  testing::TinyModel model;
  for (const bool fused : {false, true}) {
    model.fused = fused;
    for (const int stage : {0, 1}) {
      Request request{.stage = stage, .ranks = 2, .micro_batches = 3, .compute = Dtype::bf16};
      const Plan before = testing::tiny_plan(request, model);
      request.sums_in_products = true;
      const Plan plan = testing::tiny_plan(request, model);
      const int64_t matrices = 2 * 12 * 16 * 16;
      int64_t all = 0;
      for (const Unit& unit : plan.units) all += unit.numel;
      EXPECT_EQ(summed(before), (Summed{0, 3 * 4 * all}));
      EXPECT_EQ(summed(plan), (Summed{3 * 4 * matrices, 3 * 4 * (all - matrices)}));
    }
  }
}

TEST(SumsInProducts, AreForSeveralMicroBatchesThatARankSumsWholeInDefaultNumerics) {
  Request request{.stage = 1, .ranks = 2, .micro_batches = 2, .sums_in_products = true};
  EXPECT_GT(summed(testing::tiny_plan(request)).in_products, 0);
  Request other = request;
  other.micro_batches = 1;
  EXPECT_EQ(summed(testing::tiny_plan(other)).in_products, 0);
  other = request;
  other.reproducible = true;
  EXPECT_EQ(summed(testing::tiny_plan(other)).in_products, 0);
  other = request;
  other.stage = 2;
  EXPECT_EQ(summed(testing::tiny_plan(other)).in_products, 0) << "ranks sum shards";
}

/// Both graphs of a text that is continued.
Plan decode_plan(int64_t context_of_chunk, const Request& request = {}) {
  constexpr model::Gpt2 kModel{
      .layers = 2, .width = 8, .heads = 2, .vocabulary = 9, .positions = 80};
  return compile_decode(
      request, model::gpt2_decode(kModel, {.length = 1, .context = 80}, Dtype::f32),
      model::gpt2_decode(kModel, {.length = 5, .context = context_of_chunk}, Dtype::f32));
}

TEST(CompileDecode, BothBodiesTouchTheSameWeightsAndCachesAndNothingElseLasts) {
  const Plan plan = decode_plan(80);
  const auto lasting = [&](BodyId body) {
    std::set<int32_t> buffers;
    for (const PlanOp& op : plan.bodies[body].ops)
      for (const Operand& operand : op.operands)
        if (operand.buffer >= 0 && plan.buffers[size_t(operand.buffer)].persistent)
          buffers.insert(operand.buffer);
    return buffers;
  };
  std::set<int32_t> decode = lasting(kDecode), prefill = lasting(kPrefill);
  for (const char* name : {"tokens", "rows", "moves", "logit rows"}) {
    EXPECT_EQ(decode.extract(plan.input(0, name).buffer).empty(), false) << name;
    EXPECT_EQ(prefill.extract(plan.input(1, name).buffer).empty(), false) << name;
  }
  EXPECT_EQ(decode, prefill);
  // Three units, two caches, inputs, logits.
  EXPECT_EQ(decode.size(), 3u + 2u + 2u);
  for (const Unit& unit : plan.units) EXPECT_TRUE(unit.states.empty());
  for (BodyId body : {kStep, kFinish, kEvaluate}) EXPECT_TRUE(plan.bodies[body].ops.empty());
}

TEST(CompileDecode, FindsInputsAndOutputsByTheirNamesAndByWhoFillsThem) {
  const Plan plan = decode_plan(80);
  using graph::FilledBy;
  EXPECT_EQ(plan.input(0, FilledBy::step).buffer, plan.input(1, FilledBy::step).buffer);
  EXPECT_EQ(plan.input(1, "tokens").bytes, 5 * 4);
  EXPECT_EQ(plan.input(1, "rows").bytes, 5 * 4 * 4);
  EXPECT_THROW(plan.input(1, FilledBy::generation), Error) << "there are several";
  EXPECT_EQ(plan.output(0, "logits"), plan.output(1, "logits"));
  EXPECT_THROW(plan.input(0, FilledBy::data), Error);
  EXPECT_THROW(plan.input(0, "targets"), Error);
  EXPECT_THROW(plan.output(0, "loss"), Error);
}

TEST(CompileDecode, RanksHoldShardsAtTheirHomeAndGatherEachUnitOnceABody) {
  for (const Tier home : {Tier::device, Tier::host, Tier::nvme}) {
    const Plan plan = decode_plan(80, {.stage = 3, .ranks = 4, .weight_home = home});
    for (const BodyId body : {kDecode, kPrefill}) {
      std::map<int32_t, int> gathers;
      for (const PlanOp& op : plan.bodies[body].ops)
        if (op.kind == Kind::all_gather) ++gathers[op.unit];
      // The embedding is the classifier's table too: it is gathered again for it.
      EXPECT_EQ(gathers, (std::map<int32_t, int>{{0, 2}, {1, 1}, {2, 1}})) << name_of(home);
    }
    for (const Unit& unit : plan.units) {
      const Buffer& weight = plan.buffers[size_t(unit.weight)];
      EXPECT_EQ(weight.tier, home);
      EXPECT_EQ(weight.bytes, unit.numel / 4 * int64_t(sizeof(float)));
    }
  }
}

TEST(CompileDecode, RefusesBodiesThatCannotShareAndOtherStagesOnSeveralRanks) {
  EXPECT_THROW(decode_plan(16), Error);
  EXPECT_THROW(decode_plan(80, {.ranks = 2}), Error);
  EXPECT_THROW(decode_plan(80, {.stage = 1}), Error);
  EXPECT_THROW(decode_plan(80, {.weight_home = Tier::host}), Error);
}

TEST(FreeBetweenBodies, IsWhatLiesPastAllThatLasts) {
  const Plan plan = testing::tiny_plan({.stage = 2, .ranks = 2, .compute = Dtype::bf16});
  const Stretch free = free_between_bodies(plan);
  EXPECT_EQ(free.end, plan.arena_bytes[size_t(Tier::device)]);
  EXPECT_LT(free.begin, free.end);
  EXPECT_EQ(free.begin % 4096, 0);
  int64_t first_transient = free.end;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.tier != Tier::device) continue;
    if (buffer.persistent) {
      EXPECT_LE(buffer.offset + buffer.bytes, free.begin) << buffer.name;
    } else {
      first_transient = std::min(first_transient, buffer.offset);
    }
  }
  EXPECT_LE(free.begin - first_transient, 4096);
}

/// Everything on disk, as it is at stage 3.
Plan disk_plan(int staged_units, int ranks = 1) {
  testing::TinyModel model;
  model.gpt2.layers = 8;
  model.evaluates = false;
  return testing::tiny_plan({.stage = 3,
                             .ranks = ranks,
                             .compute = Dtype::bf16,
                             .optimizer_home = Tier::nvme,
                             .weight_home = Tier::nvme,
                             .staged_units = staged_units},
                            model);
}

size_t first_backward(const Plan& plan) {
  const std::vector<PlanOp>& ops = plan.bodies[kStep].ops;
  return size_t(std::find_if(ops.begin(), ops.end(),
                             [&](const PlanOp& op) {
                               return op.kind == Kind::compute &&
                                      plan.graphs[0].ops[size_t(op.graph_op)].backward;
                             }) -
                ops.begin());
}

/// How many reads of a buffer on disk stand before and behind the border of a step.
std::pair<int, int> reads_around(const Plan& plan, int32_t home, size_t border) {
  const std::vector<PlanOp>& ops = plan.bodies[kStep].ops;
  std::pair<int, int> reads{};
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != Kind::disk_read || ops[i].operands[0].buffer != home) continue;
    ++(i < border ? reads.first : reads.second);
  }
  return reads;
}

TEST(ReadAhead, StatesOfTheFirstUnitsAreReadDuringBackwardAndOthersBeforeTheirUpdate) {
  const Plan plan = disk_plan(4);
  const size_t border = first_backward(plan);
  for (size_t u = 0; u < plan.units.size(); ++u) {
    const Unit& unit = plan.units[u];
    const std::pair<int, int> expected = u < 4 ? std::pair(0, 1) : std::pair(1, 0);
    for (int32_t state : {unit.low, unit.states[0], unit.states[1]}) {
      EXPECT_EQ(reads_around(plan, state, border), expected) << plan.buffers[size_t(state)].name;
    }
  }
}

// The first gather of a step takes the weight that the optimizer has left in memory, so beside the
// read for the update there is one for each further gather. Weights of the last units stay in host
// memory: backward wants them before they could be back from disk.
TEST(ReadAhead, NoWeightIsReadAgainBehindItsUpdate) {
  for (int ranks : {1, 2}) {
    const Plan plan = disk_plan(4, ranks);
    for (size_t u = 0; u < plan.units.size(); ++u) {
      const Unit& unit = plan.units[u];
      const auto gathers = std::count_if(
          plan.buffers.begin(), plan.buffers.end(),
          [&](const Buffer& buffer) { return buffer.name.starts_with(unit.name + ".gathered."); });
      EXPECT_GE(gathers, 2) << unit.name;
      const bool stays = u + 4 >= plan.units.size();
      EXPECT_EQ(reads_around(plan, unit.weight, INT32_MAX).first, stays ? 1 : gathers) << unit.name;
    }
  }
}

// The bytes of copies serve the other units between their uses: 36 blocks of 4096 elements, of 2
// bytes of weight and 10 of states, behind a table that is longer than four of them.
TEST(ReadAhead, CopiesTakeTheHostMemoryOfTheUnitsThatAreOnTheirWay) {
  testing::TinyModel model;
  model.gpt2.layers = 36;
  model.gpt2.vocabulary = 1021;
  const Plan plan = testing::tiny_plan(
      {.stage = 1, .compute = Dtype::bf16, .optimizer_home = Tier::nvme, .staged_units = 8}, model);
  int64_t resting = kPageBytes;  // and what is decided
  for (const Buffer& buffer : plan.buffers) {
    const bool rests = buffer.persistent && buffer.copy_of < 0;
    if (rests && buffer.tier == Tier::host) resting += buffer.bytes;
  }
  const int64_t staged = plan.units[0].numel + 7 * plan.units[1].numel;
  EXPECT_GT(plan.units[0].numel, 4 * plan.units[1].numel);
  EXPECT_EQ(plan.arena_bytes[size_t(Tier::host)], resting + 12 * staged);
}

TEST(ReadAhead, WithoutOverlapNothingIsCopied) {
  const Plan plan = testing::tiny_plan(
      {.stage = 1, .overlap = false, .optimizer_home = Tier::nvme, .staged_units = 4});
  EXPECT_TRUE(plan.bodies[kReadAhead].ops.empty());
  for (const Buffer& buffer : plan.buffers) EXPECT_EQ(buffer.copy_of, -1);
}

/// The most buffers of gathered weights between their first and their last op in the list.
int most_gathered(const Plan& plan) {
  std::map<int32_t, std::pair<size_t, size_t>> lives;
  const std::vector<PlanOp>& ops = plan.bodies[kStep].ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    for (const Operand& operand : ops[i].operands) {
      if (operand.buffer < 0) continue;
      if (plan.buffers[size_t(operand.buffer)].use != Use::gathered_weights) continue;
      lives.try_emplace(operand.buffer, i, i).first->second.second = i;
    }
  }
  int most = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto lives_here = [i](const auto& life) {
      return life.second.first <= i && i <= life.second.second;
    };
    most = std::max(most, int(std::count_if(lives.begin(), lives.end(), lives_here)));
  }
  return most;
}

TEST(Compile, GathersOneUnitAtATimeWhereNoneMayLive) {
  testing::TinyModel model;
  model.gpt2.layers = 4;
  Request request{.stage = 3,
                  .ranks = 2,
                  .keep_below_numel = 1'000'000'000,
                  .keep_distance_numel = 1'000'000'000};
  EXPECT_GT(most_gathered(testing::tiny_plan(request, model)), 2);
  request.live_numel = 0;
  EXPECT_EQ(most_gathered(testing::tiny_plan(request, model)), 1);
}

TEST(Compile, TwoRoundsAreALoop) {
  Request request{.stage = 3, .ranks = 4, .micro_batches = 5, .most_written = 4};
  const auto loop = [&] { return testing::tiny_plan(request, {}).bodies[kStep].loop; };
  while (!loop().is_there()) ASSERT_LT(++request.micro_batches, 20);
  EXPECT_EQ(loop().rounds, 2);
}

TEST(Compile, StageThreeHoldsLessThanStageZero) {
  int64_t before = INT64_MAX;
  for (int stage : {0, 1, 2, 3}) {
    testing::TinyModel model;
    model.gpt2.layers = 8;
    model.gpt2.width = 64;
    const Plan plan = testing::tiny_plan(
        {.stage = stage, .ranks = 4, .compute = Dtype::bf16, .prefetch_numel = 1}, model);
    const int64_t bytes = plan.arena_bytes[size_t(Tier::device)];
    EXPECT_LT(bytes, before) << "stage " << stage;
    before = bytes;
  }
}

/// Uses share no bytes but in turn, so that none has more than the arena.
TEST(PlannedBytes, AreCountedOnce) {
  for (const Tier home : {Tier::device, Tier::host, Tier::nvme}) {
    for (const int stage : {1, 3}) {
      const Plan plan = testing::tiny_plan({.stage = stage, .optimizer_home = home});
      const Forecast told = forecast(plan, {});
      for (size_t tier = 0; tier < kTiers; ++tier) {
        for (size_t use = 0; use < kUses; ++use) {
          EXPECT_LE(told.bytes[tier][use], plan.arena_bytes[tier])
              << name_of(Use(use)) << " on " << name_of(Tier(tier));
        }
      }
    }
  }
}

}  // namespace
}  // namespace zero::plan
