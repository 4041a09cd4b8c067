// Ranks: 1
#include "zero/train/sampler.hpp"

#include <gtest/gtest.h>

namespace zero::train {
namespace {

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
