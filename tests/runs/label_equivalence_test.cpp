// Ranks: 1
// The promise of equal bits for classifiers of texts, whose layers use projections twice, for
// tokens and for a table that all layers read and each drops anew.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/plan/verify_parts.hpp"
#include "tests/support/one_outcome.hpp"
#include "tests/support/tiny_deberta.hpp"

namespace zero::run {
namespace {

model::Deberta with_dropout(bool convolves) {
  model::Deberta deberta = testing::kTinyDeberta;
  deberta.dropout = 0.1f;
  deberta.convolves = convolves;
  return deberta;
}

Case case_of(const model::Architecture& model, Dtype compute, int ranks, int stage) {
  return {
      .request = request_of(compute, ranks, stage, 4), .steps = few_steps(compute), .other = model};
}

void expect_one_outcome(const model::Architecture& model, Dtype compute) {
  OneOutcome one;
  const auto made = [&](int ranks, int stage) { return case_of(model, compute, ranks, stage); };
  for (const Case& c : at_every_stage(made)) one.expect(c);
}

TEST(ReproducibleLabels, RanksStagesAndRecomputeChangeNoBit) {
  for (const Dtype compute : kPrecisions) expect_one_outcome(with_dropout(true), compute);
}

TEST(ReproducibleLabels, NorOfOneWithoutAConvolution) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16})
    expect_one_outcome(with_dropout(false), compute);
}

TEST(ReproducibleLabels, HomesChangeNoBit) {
  for (const auto& [compute, convolves] :
       {std::pair(Dtype::bf16, true), {Dtype::f32, false}, {Dtype::f16, false}}) {
    OneOutcome one;
    const auto made = [&](int ranks, int stage) {
      return case_of(with_dropout(convolves), compute, ranks, stage);
    };
    one.expect(made(2, 0));
    for (const Case& c : at_every_home(made)) one.expect(c);
  }
}

using Momenta = std::map<std::string, std::vector<float>>;

/// The momenta of parameters after the first step, which are their gradients but for a factor.
Momenta first_momenta(int ranks, int stage) {
  testing::TinyModel model;
  model.other = with_dropout(true);
  const plan::Plan plan = testing::tiny_plan(request_of(Dtype::f32, ranks, stage, 4), model);
  testing::ThreadRanks machine(plan, testing::tiny_rules(Dtype::f32));
  testing::train(machine, plan, 1);
  Momenta momenta;
  for (const plan::Unit& unit : plan.units) {
    std::vector<float> whole(size_t(unit.numel));
    const int64_t each = unit.optimizer_sharded ? unit.shard_numel : unit.numel;
    for (int rank = 0; rank * each < unit.numel; ++rank)
      machine.read(
          rank, unit.states[0],
          std::as_writable_bytes(std::span(whole).subspan(size_t(rank * each), size_t(each))));
    for (const plan::UnitParameter& place : unit.parameters) {
      const graph::Graph& graph = plan.graphs[0];
      const auto begin = whole.begin() + place.begin;
      momenta[graph[graph.parameters[size_t(place.parameter)].tensor].name] = {begin,
                                                                               begin + place.numel};
    }
  }
  return momenta;
}

TEST(ReproducibleLabels, WhatIsUsedTwiceHasTheSameGradientAtStages0And3) {
  const Momenta zero = first_momenta(1, 0), three = first_momenta(4, 3);
  const std::string own = "encoder.layer.1.attention.self.";
  for (const std::string& name :
       {own + "query_proj.weight", own + "key_proj.weight", own + "query_proj.bias",
        std::string("encoder.rel_embeddings.weight")}) {
    EXPECT_EQ(zero.at(name), three.at(name)) << name;
    EXPECT_GT(std::ranges::count_if(zero.at(name), [](float one) { return one != 0; }), 8) << name;
  }
}

/// Ends each wait of a reduction for compute one op too soon. Returns the units that they reduce.
std::set<int32_t> end_waits_of_reductions_too_soon(plan::Plan& plan) {
  std::set<int32_t> units;
  for (plan::Body& body : plan.bodies) {
    for (plan::PlanOp& op : body.ops) {
      for (plan::Wait& wait : op.waits) {
        if (op.lane != plan::Lane::reduce || wait.lane != plan::Lane::compute) continue;
        units.insert(op.unit);
        --wait.count;
        EXPECT_FALSE(plan::verify(plan, 1).empty())
            << plan::name_of(op.kind) << " of unit " << op.unit;
        ++wait.count;
      }
    }
  }
  return units;
}

TEST(ReproducibleLabels, AReductionBeforeTheLastUseOfAWeightIsNoPlan) {
  for (const int stage : {1, 2, 3}) {
    SCOPED_TRACE(stage);
    // The smallest bucket holds one unit.
    plan::Plan plan = testing::tiny_plan(
        {.stage = stage, .ranks = 2, .micro_batches = 1, .reduce_bucket_numel = 2},
        {.other = testing::kTinyDeberta});
    EXPECT_EQ(plan::verify(plan), std::vector<std::string>{});
    EXPECT_EQ(end_waits_of_reductions_too_soon(plan), (std::set<int32_t>{0, 1, 2, 3}))
        << "the tables, both layers and the head";
  }
}

/// The mean loss of the first step with micro-batches of so many samples.
double first_loss(int64_t samples) {
  testing::TinyModel model;
  model.other = with_dropout(true);
  model.micro.samples = samples;
  const plan::Plan plan = testing::tiny_plan(request_of(Dtype::f32, 1, 0, int(8 / samples)), model);
  testing::ThreadRanks machine(plan, testing::tiny_rules(Dtype::f32));
  const testing::Outcome outcome = testing::train(machine, plan, 1);
  kernels::StepSums sums;
  std::memcpy(&sums, outcome.sums.data(), sizeof sums);
  return sums.loss.value();
}

TEST(ReproducibleLabels, MicroBatchesOfAnySizeDropTheSame) {
  EXPECT_NEAR(first_loss(1) / first_loss(4), 1, 1e-6);
  EXPECT_NEAR(first_loss(8) / first_loss(4), 1, 1e-6);
}

}  // namespace
}  // namespace zero::run
