// Ranks: 1
#include "zero/train/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace zero::train {
namespace {

TEST(Draw, FollowsTheSoftmax) {
  // Weights 1, 2, 1: borders at a quarter and at three quarters.
  const std::vector<float> logits = {0.0f, std::log(2.0f), 0.0f};
  EXPECT_EQ(draw(logits, 1.0, 0.0), 0);
  EXPECT_EQ(draw(logits, 1.0, 0.24), 0);
  EXPECT_EQ(draw(logits, 1.0, 0.26), 1);
  EXPECT_EQ(draw(logits, 1.0, 0.74), 1);
  EXPECT_EQ(draw(logits, 1.0, 0.76), 2);
}

TEST(Draw, ALowTemperatureTakesTheLikeliest) {
  const std::vector<float> logits = {0.0f, 1.0f, 0.5f};
  for (double uniform : {0.01, 0.5, 0.99}) EXPECT_EQ(draw(logits, 1e-3, uniform), 1);
}

TEST(WhyNoSamples, NamesTokensAndSize) {
  model::Gpt2 small{.layers = 1, .width = 8, .heads = 1, .vocabulary = 256, .positions = 8};
  EXPECT_EQ(why_no_samples(small), "");
  small.vocabulary = 50257;
  EXPECT_EQ(why_no_samples(small), "its tokens are no bytes");
  const model::Gpt2 large{
      .layers = 48, .width = 1600, .heads = 25, .vocabulary = 256, .positions = 1024};
  EXPECT_NE(why_no_samples(large).find("parameters"), std::string::npos);
}

}  // namespace
}  // namespace zero::train
