// Ranks: 1
// The promise of equal bits where units are updated before the norm is known.

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/one_outcome.hpp"

namespace zero::run {
namespace {

/// No norm is above the first, nearly every one above the last.
constexpr double kNever = 0, kSometimes = 1, kOften = 0.01;

/// The case with its states on the host and so much of them updated ahead.
Case speculated(Case c, double share) {
  c.request.optimizer_home = plan::Tier::host;
  c.request.speculated_share = share;
  return c;
}

void expect_one_outcome(const Case& plain) {
  OneOutcome one;
  one.expect(plain);
  for (const double share : {0.0, 0.6, 1.0}) one.expect(speculated(plain, share));
}

TEST(Speculation, ChangesNoBitHoweverOftenNormsAreClipped) {
  for (const Dtype compute : kPrecisions) {
    for (const int ranks : {1, 2}) {
      for (const int stage : {1, 2, 3}) {
        for (const double clip : {kNever, kSometimes, kOften}) {
          Case plain{.request = request_of(compute, ranks, stage, ranks),
                     .steps = few_steps(compute),
                     .clip = clip};
          plain.request.reproducible = false;
          expect_one_outcome(plain);
        }
      }
    }
  }
}

TEST(Speculation, ChangesNoBitOfAccumulatedReproducibleAndUnroundedSums) {
  for (const int stage : {1, 2, 3}) {
    for (const int micro_batches : {4, 24}) {
      Case plain{.request = request_of(Dtype::bf16, 2, stage, micro_batches), .steps = 6};
      plain.request.most_written = 4;
      expect_one_outcome(plain);
      plain.request.reproducible = false;
      expect_one_outcome(plain);
      plain.request.gradient_fp32 = true;
      expect_one_outcome(plain);
    }
  }
}

TEST(Speculation, ChangesNoBitOfAnyOptimizerWithoutNorms) {
  constexpr OptimizerConfig kForms[] = {
      {.type = OptimizerType::Lion, .betas = {0.9, 0.99}},
      {.type = OptimizerType::SGD},
      {.type = OptimizerType::SGD, .momentum = 0.9},
  };
  for (const OptimizerConfig& form : kForms) {
    for (const Dtype compute : kPrecisions) {
      Case plain{
          .request = request_of(compute, 2, 2, 2), .optimizer = form, .steps = few_steps(compute)};
      plain.request.optimizer = form_of(form);
      expect_one_outcome(plain);
    }
  }
}

TEST(Speculation, ChangesNoBitBesideUpdatesOnTheDeviceSharesAndTurns) {
  for (const int stage : {1, 3}) {
    OneOutcome one;
    const Case plain{.request = request_of(Dtype::bf16, 2, stage, 4), .layers = 4};
    one.expect(plain);
    Case other = speculated(plain, 1.0);
    other.request.device_update_share = 0.5;
    one.expect(other);
    other.request.optimizer_share = 0.7;
    one.expect(other);
    other.request.staged_units = 1;
    one.expect(other);
    other.request.overlap = false;
    one.expect(other);
  }
}

/// Returns the plan of a rank that updates every unit ahead.
plan::Plan plan_updated_ahead() {
  const Case plain{.request = request_of(Dtype::bf16, 1, 1, 1)};
  return testing::tiny_plan(speculated(plain, 1.0).request);
}

run::Rules rules_that_clip_at(double clip) {
  run::Rules rules = testing::tiny_rules(Dtype::bf16);
  rules.decide.clip = clip;
  return rules;
}

/// Trains and returns how each unit's copies lie at the end, and how many updates there were.
struct Turns {
  std::vector<int64_t> second;
  int64_t updates;
};
Turns turns_after(int steps, double clip) {
  const plan::Plan plan = plan_updated_ahead();
  testing::ThreadRanks machine(plan, rules_that_clip_at(clip));
  const testing::Outcome outcome = testing::train(machine, plan, steps);
  Turns turns{.second = {}, .updates = testing::updates_of(outcome)};
  for (const plan::Unit& unit : plan.units) {
    kernels::Speculation made{};
    machine.read(0, unit.turns, std::as_writable_bytes(std::span(&made, 1)));
    turns.second.push_back(made.second);
  }
  return turns;
}

// Bits alone would not tell a guess that is always thrown away.
TEST(Speculation, TakesGuessesOverWhereNothingIsClipped) {
  for (const int steps : {5, 6}) {
    const Turns never = turns_after(steps, kNever);
    for (const int64_t second : never.second) EXPECT_EQ(second, steps % 2);
    const Turns always = turns_after(steps, 1e-4);
    for (const int64_t second : always.second) EXPECT_EQ(second, 0);
  }
}

// As after a checkpoint is loaded: what was guessed before is not used.
TEST(Speculation, StatesThatTheHostPutsBackAreGoneOnFrom) {
  const plan::Plan plan = plan_updated_ahead();
  const run::Rules rules = rules_that_clip_at(kNever);
  testing::ThreadRanks machine(plan, rules);
  testing::fill_states(machine, plan, rules);
  const auto go_on = [&](int first, int last, bool finishes) {
    for (int step = first; step <= last; ++step) {
      const kernels::StepInputs inputs = testing::tiny_inputs(plan, step);
      testing::fill_batch(machine, plan, inputs.first_sample);
      kernels::StepInputs given = inputs;
      if (step == first) given.pending = 0;
      machine.run(plan::kStep, given);
    }
    if (finishes) machine.run(plan::kFinish, testing::tiny_inputs(plan, last + 1));
  };
  const auto snapshot = [&] {
    std::vector<std::vector<std::byte>> kept(plan.buffers.size());
    const auto keep = [&](int32_t buffer) {
      kept[size_t(buffer)].resize(size_t(plan.buffers[size_t(buffer)].bytes));
      machine.read(0, buffer, kept[size_t(buffer)]);
    };
    for (const plan::Unit& unit : plan.units) std::ranges::for_each(unit.updated(), keep);
    keep(plan.step_state);
    return kept;
  };
  go_on(1, 3, true);
  const auto before = snapshot();
  go_on(4, 6, true);
  const auto after = snapshot();
  EXPECT_TRUE(before != after);
  go_on(7, 8, false);
  for (size_t b = 0; b < before.size(); ++b) {
    if (!before[b].empty()) machine.write(0, int32_t(b), before[b]);
  }
  go_on(4, 6, true);
  EXPECT_TRUE(snapshot() == after);
}

}  // namespace
}  // namespace zero::run
