#pragma once
/// Tiny decoders of golden files, compared with Hugging Face's classes.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/golden_trial.hpp"

namespace zero::testing_support {

/// The golden files: one or more of each row of the table of decoders.
inline constexpr std::array kGoldenDecoders = {
    "llama_a",   "llama_b",       "llama_c",   "llama_d",    "llama_e",   "qwen2_a",
    "qwen2_b",   "qwen3_a",       "qwen3_b",   "mistral_a",  "mistral_b", "mistral_c",
    "ministral", "smollm3",       "olmo2",     "olmo3",      "gemma2",    "gemma3_text",
    "granite",   "phi3",          "phi3_long", "ministral3", "seed_oss",  "hunyuan_v1_dense",
    "exaone4",   "hunyuan_alpha", "arcee"};

/// Expects that the projections of a gradient have the difference that errors of 1e-5 make.
inline void expect_projections(const testing::GoldenTensor& tensor, int64_t index,
                               const std::vector<double>& gradient) {
  const std::vector<double> own = testing::projected(gradient, index, tensor.projections.size());
  double squares = 0;
  for (size_t j = 0; j < own.size(); ++j)
    squares += (own[j] - tensor.projections[j]) * (own[j] - tensor.projections[j]);
  const double difference = std::sqrt(squares / double(own.size()));
  // The floor acts where a whole gradient is zero but for rounding, as that of biases of keys.
  EXPECT_LE(difference, 1e-5 * std::max(tensor.norm, 0.005)) << tensor.name;
}

inline void expect_golden_decoder(const testing::GoldenDecoder& golden,
                                  const TrialOptions& options) {
  const graph::Graph forward =
      model::graph_of({.model = golden_model(golden.hub)}, model::Purpose::train,
                      {.micro = {.samples = golden.samples, .length = golden.length},
                       .chunk_rows = 50,
                       .head_unit = options.head_unit,
                       .packed = !golden.first.empty()});
  GoldenTrial trial(step_graph(forward, options), golden.tensors, golden.counted);
  trial.fill("tokens", golden.tokens);
  trial.fill("targets", golden.targets);
  if (!golden.first.empty()) trial.fill(model::kFirstInput, golden.first);
  EXPECT_NEAR(trial.loss(), golden.loss, 1e-6 * golden.loss);
  const auto own = trial.gradients();
  for (size_t i = 0; i < golden.tensors.size(); ++i) {
    const testing::GoldenTensor& tensor = golden.tensors[i];
    ASSERT_TRUE(own.contains(tensor.name)) << tensor.name;
    expect_projections(tensor, int64_t(i), own.at(tensor.name));
  }
}

}  // namespace zero::testing_support
