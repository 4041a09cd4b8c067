#pragma once
/// Small trainings that must all come to the same bits.

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/run/executor.hpp"

namespace zero::testing {

inline constexpr int kSteps = 20;
inline constexpr Dtype kPrecisions[] = {Dtype::f32, Dtype::bf16, Dtype::f16};

/// As the list [0] says it: of two blocks only the first.
inline const std::vector<graph::Recompute> kFirstBlock = {graph::Recompute::full,
                                                          graph::Recompute::none};

/// `micro_batches` of all ranks together.
inline plan::Request request_of(Dtype compute, int ranks, int stage, int micro_batches) {
  return {.stage = stage,
          .ranks = ranks,
          .micro_batches = micro_batches / ranks,
          .compute = compute,
          .weight_decay = 0.1f,
          .reproducible = true};
}

/// The first steps of fp16 are skipped until its scale fits.
inline int few_steps(Dtype compute) { return compute == Dtype::f16 ? 16 : 6; }

/// Trained with the tiny model.
struct Case {
  plan::Request request;
  graph::Recompute recompute = graph::Recompute::none;
  std::vector<graph::Recompute> blocks = {};  ///< as TinyModel has it
  OptimizerConfig optimizer = {};             ///< of which the request has the form
  int steps = kSteps;
  int64_t layers = 2;
  std::optional<model::Architecture> other = {};  ///< as TinyModel has it
  bool packed = false;                            ///< as TinyModel has it
  std::optional<double> clip = {};                ///< none: that of tiny_rules()
};

inline Outcome train(const Case& c) {
  TinyModel model;
  model.recompute = c.recompute;
  model.blocks = c.blocks;
  model.gpt2.layers = c.layers;
  model.other = c.other;
  model.packed = c.packed;
  const plan::Plan plan = tiny_plan(c.request, model);
  EXPECT_EQ(moves_activations(plan), c.request.activation_home != plan::Tier::device);
  run::Rules rules = tiny_rules(c.request.compute);
  rules.optimizer.settings = c.optimizer;
  if (c.clip) rules.decide.clip = *c.clip;
  ThreadRanks machine(plan, rules);
  Outcome outcome = train(machine, plan, c.steps);
  EXPECT_TRUE(padding_is_zero(machine, plan));
  return outcome;
}

inline std::string describe(const Case& c) {
  return text(name_of(c.request.compute), ", ", c.request.ranks, " ranks, stage ", c.request.stage,
              ", ", c.request.micro_batches, " micro-batches a rank, ", c.request.optimizer.name,
              ", recompute ", int(c.recompute), c.blocks.empty() ? "" : ", of the first block",
              c.request.overlap ? "" : ", no overlap", ", buckets of ",
              c.request.reduce_bucket_numel, ", prefetch ", c.request.prefetch_numel,
              ", keeps over ", c.request.keep_distance_numel, ", optimizer on ",
              plan::name_of(c.request.optimizer_home), ", of which ", c.request.device_update_share,
              " is updated on the device and ", c.request.speculated_share, " ahead, weights on ",
              plan::name_of(c.request.weight_home), ", activations on ",
              plan::name_of(c.request.activation_home));
}

/// Applied by the last attempt but one.
inline int64_t updates_of(const Outcome& outcome) {
  kernels::StepState last;
  std::memcpy(&last, outcome.decided.data() + outcome.decided.size() - sizeof last, sizeof last);
  return last.updates;
}

/// Expects the same bits of two runs.
inline void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_TRUE(a.sums == b.sums);
  EXPECT_TRUE(a.decided == b.decided);
  EXPECT_TRUE(a.state == b.state);
  EXPECT_EQ(a.evaluation, b.evaluation);
}

/// Every case leaves the same sums and decisions of every step, and the same states and evaluation
/// after the last.
class OneOutcome {
 public:
  void expect(const Case& c) {
    SCOPED_TRACE(describe(c));
    Outcome outcome = train(c);
    EXPECT_GT(updates_of(outcome), 0);
    if (!first_) first_ = outcome;
    expect_same(outcome, *first_);
  }

 private:
  std::optional<Outcome> first_;
};

/// Returns the cases made(ranks, stage), each under a choice of recompute.
template <class Made>
std::vector<Case> at_every_stage(const Made& made) {
  std::vector<Case> cases;
  for (const int ranks : {1, 2, 4}) {
    for (const int stage : {0, 1, 2, 3}) {
      cases.push_back(made(ranks, stage));
      Case& c = cases.back();
      c.recompute = ranks == 2 ? graph::Recompute::full : graph::Recompute::selective;
      if (ranks == 1) c.recompute = graph::Recompute::none;
    }
  }
  return cases;
}

/// Returns the cases made(ranks, stage) with states on the host and on disk, and at stage 3 weights
/// on every tier.
template <class Made>
std::vector<Case> at_every_home(const Made& made) {
  using plan::Tier;
  std::vector<Case> cases;
  for (const int ranks : {1, 2, 4}) {
    for (const int stage : {1, 2, 3}) {
      for (const Tier states : {Tier::host, Tier::nvme}) {
        for (const Tier weights : {Tier::device, Tier::host, Tier::nvme}) {
          if (stage < 3 && weights != Tier::device) continue;
          cases.push_back(made(ranks, stage));
          cases.back().request.optimizer_home = states;
          cases.back().request.weight_home = weights;
        }
      }
    }
  }
  return cases;
}

}  // namespace zero::testing

namespace zero::run {

using testing::at_every_home;
using testing::at_every_stage;
using testing::Case;
using testing::few_steps;
using testing::kFirstBlock;
using testing::kPrecisions;
using testing::OneOutcome;
using testing::request_of;

}  // namespace zero::run
