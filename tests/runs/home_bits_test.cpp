// Ranks: 1
// The promise of equal bits where states and parameters rest elsewhere.

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/one_outcome.hpp"

namespace zero::run {
namespace {

/// The request with every pair of homes that its stage has, at rest on the device first.
std::vector<plan::Request> over_homes(const plan::Request& plain) {
  constexpr plan::Tier kHomes[] = {plan::Tier::device, plan::Tier::host, plan::Tier::nvme};
  std::vector<plan::Request> all;
  for (const plan::Tier weights : kHomes) {
    if (weights != plan::Tier::device && plain.stage != 3) continue;
    for (const plan::Tier optimizer : kHomes) {
      all.push_back(plain);
      all.back().optimizer_home = optimizer;
      all.back().weight_home = weights;
    }
  }
  return all;
}

void expect_one_outcome_over_homes(const plan::Request& plain) {
  OneOutcome one;
  for (const plan::Request& request : over_homes(plain)) {
    one.expect({.request = request, .steps = few_steps(request.compute)});
  }
}

TEST(Homes, OfOptimizerAndWeightsChangeNoBit) {
  for (Dtype compute : kPrecisions) {
    for (int ranks : {1, 2}) {
      for (int stage : {1, 2, 3}) {
        plan::Request plain = request_of(compute, ranks, stage, 2 * ranks);
        plain.reproducible = false;
        expect_one_outcome_over_homes(plain);
      }
    }
  }
}

TEST(Homes, OfASingleMicroBatchChangeNoBit) {
  for (Dtype compute : kPrecisions) {
    for (int stage : {1, 2, 3}) {
      for (int ranks : {1, 2}) {
        plan::Request plain = request_of(compute, ranks, stage, ranks);
        plain.reproducible = false;
        expect_one_outcome_over_homes(plain);
      }
    }
  }
}

TEST(Homes, ChangeNoBitOfReproducibleSumsOfUnroundedOnesAndOfLamb) {
  for (int stage : {1, 2, 3}) {
    plan::Request plain = request_of(Dtype::bf16, 2, stage, 8);
    expect_one_outcome_over_homes(plain);
    plain.gradient_fp32 = true;
    expect_one_outcome_over_homes(plain);
    plain.reproducible = plain.gradient_fp32 = false;
    plain.optimizer = form_of({.type = OptimizerType::LAMB});
    expect_one_outcome_over_homes(plain);
  }
}

TEST(Homes, SharesStagingAndOverlapChangeNoBit) {
  for (int stage : {1, 2, 3}) {
    OneOutcome one;
    const Case plain{request_of(Dtype::bf16, 2, stage, 4)};
    one.expect(plain);
    for (const plan::Tier home : {plan::Tier::host, plan::Tier::nvme}) {
      Case other = plain;
      other.request.optimizer_home = home;
      other.request.optimizer_share = 0.5;
      one.expect(other);
      other.request.staged_units = 1;
      one.expect(other);
      other.request.overlap = false;
      one.expect(other);
    }
  }
}

/// The request with its states beside the device, all, some or none of them updated on it.
std::vector<plan::Request> over_sites(const plan::Request& plain) {
  std::vector<plan::Request> all;
  for (const plan::Request& request : over_homes(plain)) {
    if (request.optimizer_home == plan::Tier::device) continue;
    for (const double share : {0.0, 0.5, 1.0}) {
      all.push_back(request);
      all.back().device_update_share = share;
    }
  }
  return all;
}

TEST(Homes, WhereUnitsAreUpdatedChangesNoBit) {
  for (Dtype compute : kPrecisions) {
    for (int stage : {1, 2, 3}) {
      OneOutcome one;
      plan::Request plain = request_of(compute, 2, stage, 4);
      plain.reproducible = false;
      if (compute == Dtype::f32) plain.optimizer = form_of({.type = OptimizerType::LAMB});
      one.expect({.request = plain, .steps = 12});
      for (const plan::Request& request : over_sites(plain))
        one.expect({.request = request, .steps = 12});
    }
  }
}

/// Everything that rests, as the host reads it.
std::vector<std::vector<std::byte>> snapshot(testing::Machine& machine, const plan::Plan& plan) {
  std::vector<std::vector<std::byte>> kept;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::Buffer& buffer = plan.buffers[b];
    kept.emplace_back(buffer.persistent && buffer.copy_of < 0 ? size_t(buffer.bytes) : 0);
    if (!kept.back().empty()) machine.read(0, int32_t(b), kept.back());
  }
  return kept;
}

void go_on(testing::Machine& machine, const plan::Plan& plan, int first, int last) {
  for (int step = first; step <= last; ++step) {
    const kernels::StepInputs inputs = testing::tiny_inputs(plan, step);
    testing::fill_batch(machine, plan, inputs.first_sample);
    machine.run(plan::kStep, inputs);
  }
  machine.run(plan::kFinish, testing::tiny_inputs(plan, last + 1));
}

// As after a checkpoint is loaded: nothing of what was read ahead before is used.
TEST(Homes, StatesThatTheHostPutsBackAreGoneOnFrom) {
  plan::Request request = request_of(Dtype::bf16, 1, 3, 2);
  request.optimizer_home = request.weight_home = plan::Tier::nvme;
  const plan::Plan plan = testing::tiny_plan(request);
  const run::Rules rules = testing::tiny_rules(Dtype::bf16);
  testing::ThreadRanks machine(plan, rules);
  testing::fill_states(machine, plan, rules);
  go_on(machine, plan, 1, 3);
  const auto before = snapshot(machine, plan);
  go_on(machine, plan, 4, 6);
  const auto after = snapshot(machine, plan);
  EXPECT_TRUE(before != after);
  for (size_t b = 0; b < before.size(); ++b) {
    if (!before[b].empty()) machine.write(0, int32_t(b), before[b]);
  }
  go_on(machine, plan, 4, 6);
  EXPECT_TRUE(snapshot(machine, plan) == after);
}

// Half of the elements, and not all or none.
TEST(Homes, AShareOfTheUnitsIsMoved) {
  plan::Request request = request_of(Dtype::bf16, 2, 1, 4);
  request.optimizer_home = plan::Tier::host;
  request.optimizer_share = 0.5;
  testing::TinyModel model;
  model.gpt2.layers = 8;
  int moved = 0;
  const plan::Plan plan = testing::tiny_plan(request, model);
  for (const plan::Unit& unit : plan.units) moved += unit.optimizer_home == plan::Tier::host;
  EXPECT_EQ(moved, 4);
}

}  // namespace
}  // namespace zero::run
