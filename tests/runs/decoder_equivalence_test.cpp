// Ranks: 1
// The promise of equal bits for decoders of today, whose queries share keys and turn by a table,
// with windows, and with several texts in a sample.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/golden_trial.hpp"
#include "tests/support/one_outcome.hpp"

namespace zero::run {
namespace {

/// Returns a model of a config.json with two layers and 61 tokens, with dropout of probabilities.
model::Architecture tiny_decoder(const std::string& type, const std::string& own) {
  model::Architecture model = testing_support::golden_model(text(
      R"({"model_type": ")", type, R"(", "vocab_size": 61, "hidden_size": 16, )",
      R"("intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, )",
      R"("num_key_value_heads": 2, "head_dim": 6, "max_position_embeddings": 32, )", own, "}"));
  model.numbers.rates["dropout"] = 0.1;
  return model;
}

/// Returns a model with a norm of each head, its own classifier, and a window in one layer.
model::Architecture qwen3() {
  return tiny_decoder("qwen3", R"("tie_word_embeddings": false, "use_sliding_window": true, )"
                               R"("sliding_window": 3, "max_window_layers": 1)");
}

/// Returns a model with four norms in a layer, caps, and a shared table of tokens.
model::Architecture gemma2() {
  return tiny_decoder("gemma2", R"("sliding_window": 3, "query_pre_attn_scalar": 6)");
}

Case case_of(const model::Architecture& model, Dtype compute, int ranks, int stage) {
  return {.request = request_of(compute, ranks, stage, 4),
          .steps = few_steps(compute),
          .other = model,
          .packed = true};
}

void expect_one_outcome(const model::Architecture& model, Dtype compute) {
  OneOutcome one;
  const auto made = [&](int ranks, int stage) { return case_of(model, compute, ranks, stage); };
  for (const Case& c : at_every_stage(made)) one.expect(c);
}

TEST(ReproducibleDecoders, RanksStagesAndRecomputeChangeNoBit) {
  for (const Dtype compute : kPrecisions) expect_one_outcome(qwen3(), compute);
}

TEST(ReproducibleDecoders, NorOfOneWithCapsAndFourNorms) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16}) expect_one_outcome(gemma2(), compute);
}

TEST(ReproducibleDecoders, HomesChangeNoBit) {
  OneOutcome one;
  const auto made = [](int ranks, int stage) {
    return case_of(qwen3(), Dtype::bf16, ranks, stage);
  };
  one.expect(made(2, 0));
  for (const Case& c : at_every_home(made)) one.expect(c);
}

TEST(ReproducibleDecoders, TextsOfASampleDoNotSeeEachOther) {
  Case alone = case_of(qwen3(), Dtype::f32, 1, 0);
  alone.packed = false;
  const testing::Outcome joined = testing::train(alone);
  const testing::Outcome apart = testing::train(case_of(qwen3(), Dtype::f32, 1, 0));
  EXPECT_NE(joined.state, apart.state);
}

}  // namespace
}  // namespace zero::run
