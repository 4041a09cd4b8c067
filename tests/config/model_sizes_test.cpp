// Ranks: 1

#include "zero/config/model_sizes.hpp"

#include <gtest/gtest.h>

namespace zero {
namespace {

/// Embeddings, blocks of 12 w^2 + 13 w, final norm; the head is tied.
int64_t parameters(const ModelSize& m) {
  const int64_t w = m.width;
  return (m.vocab_size + m.max_positions) * w + m.layers * (12 * w * w + 13 * w) + 2 * w;
}

TEST(ModelSizes, HaveThePublishedParameterCounts) {
  EXPECT_EQ(parameters(*find_model_size("gpt2")), 124'439'808);
  EXPECT_EQ(parameters(*find_model_size("gpt2-xl")), 1'557'611'200);
  // Megatron's vocabulary is padded to 50304; its 1.5 B is gpt2-xl otherwise.
  EXPECT_EQ(parameters(*find_model_size("gpt2_1.5b")), 1'557'611'200 + (50304 - 50257) * 1600);
  EXPECT_EQ(parameters(*find_model_size("gpt2_10b")), 10'279'239'680);
}

TEST(ModelSizes, DivideTheirWidthIntoHeads) {
  for (const ModelSize& m : model_sizes()) EXPECT_EQ(m.width % m.heads, 0) << m.name;
}

TEST(ModelSizes, KnowNoOtherName) { EXPECT_EQ(find_model_size("gpt3"), nullptr); }

TEST(ModelSize, OfANameIsThatOfTheName) {
  RunConfig config;
  config.model.name = "gpt2-medium";
  EXPECT_EQ(model_size(config).layers, 24);
  EXPECT_EQ(model_size(config).max_positions, 1024);
}

TEST(ModelSize, OfNumbersTakesBytesAndTheSequenceLengthForAuto) {
  RunConfig config;
  config.model.layers = 2, config.model.width = 8, config.model.heads = 2;
  config.data.sequence_length = 64;
  EXPECT_EQ(model_size(config).vocab_size, 256);
  EXPECT_EQ(model_size(config).max_positions, 64);
  config.model.vocab_size = 100, config.model.max_positions = 128;
  EXPECT_EQ(model_size(config).vocab_size, 100);
  EXPECT_EQ(model_size(config).max_positions, 128);
}

}  // namespace
}  // namespace zero
