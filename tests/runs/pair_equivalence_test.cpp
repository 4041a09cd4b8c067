// Ranks: 1
// The promise of equal bits for encoder-decoders, whose table of tokens three operations read,
// whose biases every layer of a stack adds, and whose blocks read what another block made.

#include <gtest/gtest.h>

#include "src/model/blenderbot.hpp"
#include "src/model/t5.hpp"
#include "tests/support/one_outcome.hpp"

namespace zero::run {
namespace {

using testing::Case;
using testing::OneOutcome;

constexpr model::T5 kT5{.layers = 2,
                        .decoder_layers = 2,
                        .width = 16,
                        .heads = 2,
                        .head_width = 12,
                        .inner = 24,
                        .vocabulary = 61,
                        .buckets = 8,
                        .distance = 6,
                        .dropout = 0.1f,
                        .smoothing = 0.1f};

model::Architecture untied() {
  model::T5 t5 = kT5;
  t5.gated = true;
  t5.tied = false;
  return t5;
}

constexpr model::Blenderbot kBlenderbot{.layers = 1,
                                        .decoder_layers = 2,
                                        .width = 16,
                                        .heads = 2,
                                        .inner = 24,
                                        .decoder_inner = 32,
                                        .vocabulary = 61,
                                        .positions = 8,
                                        .dropout = 0.1f,
                                        .smoothing = 0.1f};

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
