// Ranks: 1
// Any two ranks compute the same bits of a micro-batch's gradients, and a changed bit is seen.

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "tests/support/one_outcome.hpp"

namespace zero::run {
namespace {

using testing::audit_sums;
using testing::AuditSums;

/// Training with and without audits ends with the same bits, and no audit finds anything.
void expect_no_change(Case c) {
  OneOutcome one;
  one.expect(c);
  c.request.audits = true;
  one.expect(c);
}

TEST(Audit, FindsNothingAndChangesNoBit) {
  for (const Dtype compute : kPrecisions) {
    for (const bool reproducible : {true, false}) {
      for (const Case& c : at_every_stage([&](int ranks, int stage) {
             Case made{.request = request_of(compute, ranks, stage, (1 + stage % 2) * ranks),
                       .steps = few_steps(compute)};
             made.request.reproducible = reproducible;
             return made;
           })) {
        expect_no_change(c);
      }
    }
  }
}

TEST(Audit, FindsNothingWithStatesAndWeightsElsewhere) {
  for (const Case& c : at_every_home([](int ranks, int stage) {
         return Case{.request = request_of(Dtype::bf16, ranks, stage, 2 * ranks), .steps = 4};
       })) {
    expect_no_change(c);
  }
}

TEST(Audit, FindsNothingInALoopOfMicroBatchesAndInSumsOfProducts) {
  for (const int stage : {0, 3}) {
    Case c{.request = request_of(Dtype::f32, 2, stage, 2 * 20), .steps = 2};
    c.request.most_written = 6;
    expect_no_change(c);
    c.request.reproducible = false;
    c.request.sums_in_products = true;
    expect_no_change(c);
  }
}

TEST(Audit, FindsNothingWithActivationsElsewhere) {
  Case c{.request = request_of(Dtype::bf16, 2, 3, 4),
         .recompute = graph::Recompute::full,
         .steps = 2,
         .layers = 4};
  c.request.activation_home = plan::Tier::nvme;
  c.request.staged_activations = 1;
  expect_no_change(c);
}

/// A flipped bit of the gradients that a rank digests in one body.
struct Flip {
  int rank;
  plan::BodyId body;
  int32_t unit;
  int64_t bit;  ///< of the unit's gradients
};

/// Returns the sums of all ranks after a step and its audit, in which a bit flips.
std::vector<AuditSums> sums_with(const plan::Plan& plan, const Flip& flip) {
  const Rules rules = testing::tiny_rules(plan.request.compute);
  testing::ThreadRanks machine(plan, rules);
  testing::fill_states(machine, plan, rules);
  Executor& executor = machine.executor(flip.rank);
  executor.set_op_hook([&](plan::Lane, const plan::PlanOp& op) {
    const bool is_it = op.kind == plan::Kind::digest && op.unit == flip.unit;
    if (!is_it || executor.body() != flip.body) return;
    const plan::Operand& gradients = op.operands[plan::kDigested];
    const int64_t bit = flip.bit % (8 * gradients.bytes);
    machine.bytes(flip.rank, gradients.buffer)[size_t(gradients.offset + bit / 8)] ^=
        std::byte(1 << bit % 8);
  });
  const kernels::StepInputs inputs = testing::tiny_inputs(plan, 1);
  testing::fill_batch(machine, plan, inputs.first_sample);
  machine.run(plan::kStep, inputs);
  machine.run(plan::kAudit, inputs);
  std::vector<AuditSums> all;
  for (int rank = 0; rank < plan.request.ranks; ++rank)
    all.push_back(audit_sums(machine, plan, rank));
  return all;
}

TEST(Audit, SeesEveryFlippedBitAndWhoseItIs) {
  for (const int stage : {0, 1, 2, 3}) {
    plan::Request request = request_of(stage % 2 ? Dtype::bf16 : Dtype::f32, 4, stage, 8);
    request.audits = true;
    const plan::Plan plan = testing::tiny_plan(request);
    for (const Flip& flip : {Flip{2, plan::kStep, 1, 12345}, Flip{0, plan::kAudit, 0, 31},
                             Flip{3, plan::kStep, 2, 0}, Flip{1, plan::kAudit, 2, 777}}) {
      // An audit is of the next rank's micro-batch.
      const int of = flip.body == plan::kStep ? flip.rank : (flip.rank + 1) % 4;
      const std::vector<AuditSums> all = sums_with(plan, flip);
      for (int rank = 0; rank < 4; ++rank) {
        for (size_t unit = 0; unit < plan.units.size(); ++unit) {
          const AuditSums& sums = all[size_t(rank)];
          EXPECT_EQ(sums.own[unit] == sums.other[unit], rank != of || int32_t(unit) != flip.unit)
              << "stage " << stage << " rank " << rank << " unit " << unit;
        }
      }
    }
  }
}

TEST(Audit, AddsUpNothingInOtherSteps) {
  plan::Request request = request_of(Dtype::f32, 1, 0, 1);
  request.audits = true;
  const plan::Plan plan = testing::tiny_plan(request);
  const Rules rules = testing::tiny_rules(Dtype::f32);
  testing::ThreadRanks machine(plan, rules);
  testing::fill_states(machine, plan, rules);
  kernels::StepInputs inputs = testing::tiny_inputs(plan, 1);
  inputs.audited = 0;
  testing::fill_batch(machine, plan, inputs.first_sample);
  machine.run(plan::kStep, inputs);
  for (const int64_t sum : audit_sums(machine, plan, 0).own) EXPECT_EQ(sum, 0);
}

}  // namespace
}  // namespace zero::run
