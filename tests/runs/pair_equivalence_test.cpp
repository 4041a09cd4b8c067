// Ranks: 1
// The promise of equal bits for encoder-decoders, whose table of tokens three operations read,
// whose biases every layer of a stack adds, and whose blocks read what another block made.

#include <gtest/gtest.h>

#include "tests/support/one_outcome.hpp"
#include "tests/support/tiny_encoder_decoders.hpp"

namespace zero::run {
namespace {

/// The model with dropout and smoothing of labels.
template <class Model>
constexpr Model with_noise(Model model) {
  model.dropout = model.smoothing = 0.1f;
  return model;
}

constexpr model::T5 kT5 = with_noise(testing::kTinyT5);
constexpr model::Blenderbot kBlenderbot = with_noise(testing::kTinyBlenderbot);

model::Architecture untied() {
  model::T5 t5 = kT5;
  t5.gated = true;
  t5.tied = false;
  return t5;
}

Case case_of(const model::Architecture& model, Dtype compute, int ranks, int stage) {
  return {.request = {.stage = stage,
                      .ranks = ranks,
                      .micro_batches = 4 / ranks,
                      .compute = compute,
                      .weight_decay = 0.1f,
                      .reproducible = true},
          .steps = compute == Dtype::f16 ? 16 : 6,
          .other = model};
}

void expect_one_outcome(const model::Architecture& model, Dtype compute) {
  OneOutcome one;
  for (const int ranks : {1, 2, 4}) {
    for (const int stage : {0, 1, 2, 3}) {
      Case c = case_of(model, compute, ranks, stage);
      one.expect(c);
      c.recompute = graph::Recompute::full;
      one.expect(c);
    }
  }
}

TEST(ReproduciblePairs, RanksStagesAndRecomputeChangeNoBitOfAT5) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    expect_one_outcome(kT5, compute);
  }
}

TEST(ReproduciblePairs, NorOfOneWithAGateAndAnOwnClassifier) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16}) expect_one_outcome(untied(), compute);
}

TEST(ReproduciblePairs, NorOfOneWhoseBiasesHave24LayersEach) {
  model::T5 deep = kT5;
  deep.layers = deep.decoder_layers = 24;
  deep.width = 8;
  deep.head_width = 4;
  for (const Dtype compute : {Dtype::f32, Dtype::bf16}) {
    OneOutcome one;
    for (const int stage : {0, 3}) one.expect(case_of(deep, compute, 2, stage));
  }
}

TEST(ReproduciblePairs, NorOfABlenderbot) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16}) expect_one_outcome(kBlenderbot, compute);
}

TEST(ReproduciblePairs, HomesChangeNoBit) {
  using plan::Tier;
  for (const model::Architecture& model : {model::Architecture(kT5), untied()}) {
    OneOutcome one;
    one.expect(case_of(model, Dtype::bf16, 2, 0));
    for (const Tier states : {Tier::host, Tier::nvme}) {
      for (const Tier weights : {Tier::device, Tier::host, Tier::nvme}) {
        Case c = case_of(model, Dtype::bf16, 2, 3);
        c.request.optimizer_home = states;
        c.request.weight_home = weights;
        one.expect(c);
      }
    }
  }
}

}  // namespace
}  // namespace zero::run
