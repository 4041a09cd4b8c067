// Ranks: 1
// Micro-batches of shorter samples run in shorter forms: which one is theirs alone, so ranks run
// different forms at the same time, and nothing but time follows from who runs them.

#include <gtest/gtest.h>

#include "tests/support/one_outcome.hpp"
#include "tests/support/tiny_encoder_decoders.hpp"
#include "zero/compile/compile.hpp"

namespace zero::run {
namespace {

using testing::expect_same;
using testing::Machine;
using testing::Outcome;
using testing::ThreadRanks;
using testing::TinyModel;

constexpr graph::MicroBatch kLong{.samples = 1, .length = 8, .source_length = 8};
constexpr graph::MicroBatch kShort{.samples = 1, .length = 5, .source_length = 7};

TinyModel model_of(const graph::MicroBatch& micro, float dropout = 0.1f) {
  TinyModel model;
  model::T5 t5 = testing::kTinyT5;
  t5.layers = 1;
  t5.dropout = dropout;
  t5.smoothing = 0.1f;
  model.other = t5;
  model.micro = micro;
  return model;
}

plan::Plan plan_with_forms(const plan::Request& request) {
  plan::Plan plan = testing::tiny_plan(request, model_of(kLong));
  const TinyModel shorter = model_of(kShort);
  plan::add_forms(plan, {{{testing::tiny_training_graph(shorter, request.compute)},
                          {testing::tiny_evaluation_graph(shorter, request.compute)}}});
  return plan;
}

/// Chooses the form of each micro-batch by its first sample, and lays its samples out in it.
class FormedRanks final : public Machine {
 public:
  using Choice = size_t (*)(int64_t sample);
  FormedRanks(const plan::Plan& plan, const Rules& rules, Choice choice)
      : plan_(plan), choice_(choice), ranks_(plan, rules) {}

  void run(plan::BodyId body, const kernels::StepInputs& inputs) override {
    if (body == plan::kStep) lay_out(0, plan_.request.micro_batches, inputs.first_sample);
    if (body == plan::kEvaluate) lay_out(1, 1, evaluated_++ * plan_.request.ranks);
    ranks_.run(body, inputs);
  }
  std::span<std::byte> bytes(int rank, int32_t buffer) override {
    return ranks_.bytes(rank, buffer);
  }
  void read(int rank, int32_t buffer, std::span<std::byte> out) override {
    ranks_.read(rank, buffer, out);
  }

 private:
  void lay_out(int32_t graph, int micro_batches, int64_t first) {
    for (int rank = 0; rank < plan_.request.ranks; ++rank) {
      for (int micro = 0; micro < micro_batches; ++micro) {
        const int64_t sample = first + int64_t(micro) * plan_.request.ranks + rank;
        const size_t form = choice_(sample);
        ranks_.executor(rank).choose_form(graph, micro, form);
        fill(plan_.form(graph, form), graph, rank, micro, sample);
      }
    }
  }
  void fill(const graph::Graph& form, int32_t graph, int rank, int micro, int64_t sample) {
    for (const graph::Input& input : form.inputs) {
      if (input.filled_by != graph::FilledBy::data) continue;
      const graph::Tensor& tensor = form[input.tensor];
      int32_t* const out = testing::inputs_of(ranks_, rank, plan_.input(graph, tensor.name), micro);
      testing::fill_samples(tensor.name, 1, sample, {out, size_t(tensor.shape.numel())});
    }
  }

  const plan::Plan& plan_;
  Choice choice_;
  ThreadRanks ranks_;
  int64_t evaluated_ = 0;
};

size_t one_in_three_is_short(int64_t sample) { return sample % 3 == 0 ? 0 : 1; }
size_t all_short(int64_t) { return 0; }
size_t all_long(int64_t) { return 1; }

plan::Request request_of(int stage, int ranks, Dtype compute) {
  return {.stage = stage,
          .ranks = ranks,
          .micro_batches = 8 / ranks,
          .compute = compute,
          .weight_decay = 0.1f,
          .reproducible = true};
}

Outcome trained(const plan::Plan& plan, FormedRanks::Choice choice) {
  FormedRanks machine(plan, testing::tiny_rules(plan.request.compute), choice);
  return testing::train(machine, plan, testing::few_steps(plan.request.compute));
}

TEST(LengthForms, RanksAndStagesChangeNoBitWhereMicroBatchesRunDifferentForms) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16}) {
    std::optional<Outcome> first;
    for (const int ranks : {1, 2, 4}) {
      for (const int stage : {0, 1, 2, 3}) {
        SCOPED_TRACE(text(name_of(compute), ", ", ranks, " ranks, stage ", stage));
        const plan::Plan plan = plan_with_forms(request_of(stage, ranks, compute));
        const Outcome outcome = trained(plan, one_in_three_is_short);
        if (!first) first = outcome;
        expect_same(outcome, *first);
      }
    }
  }
}

TEST(LengthForms, ALoopOverManyMicroBatchesTakesEachInItsForm) {
  std::optional<Outcome> first;
  for (const int most_written : {0, 4}) {
    for (const int ranks : {1, 2}) {
      plan::Request request = request_of(2, ranks, Dtype::f32);
      request.micro_batches = 28 / ranks;
      request.most_written = most_written == 0 ? 100 : most_written;
      const plan::Plan plan = plan_with_forms(request);
      EXPECT_EQ(plan.bodies[plan::kStep].loop.is_there(), most_written != 0);
      const Outcome outcome = trained(plan, one_in_three_is_short);
      if (!first) first = outcome;
      expect_same(outcome, *first);
    }
  }
}

TEST(LengthForms, AShortFormComputesWhatAPlanOfThatLengthAloneDoes) {
  for (const int stage : {0, 3}) {
    const plan::Request request = request_of(stage, 2, Dtype::f32);
    // The divisor is that of a plan's own length: here the same for both.
    const plan::Plan alone = testing::tiny_plan(request, model_of(kShort));
    plan::Plan formed = plan_with_forms(request);
    formed.graphs[0].length = alone.graphs[0].length;
    const Outcome outcome = trained(formed, all_short);
    expect_same(outcome, trained(alone, all_short));
    EXPECT_FALSE(outcome.sums == trained(formed, all_long).sums) << "no form was chosen";
  }
}

TEST(LengthForms, TheLongestComputesWhatAPlanWithoutFormsDoes) {
  const plan::Request request = request_of(3, 2, Dtype::bf16);
  expect_same(trained(plan_with_forms(request), all_long),
              trained(testing::tiny_plan(request, model_of(kLong)), all_short));
}

}  // namespace
}  // namespace zero::run
