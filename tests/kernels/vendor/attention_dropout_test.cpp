// Ranks: 1

#include "kernels/vendor/attention_dropout.hpp"

#include <gtest/gtest.h>

#include "tests/support/matrix_reference.hpp"

namespace zero::kernels::vendor {
namespace {

TEST(WriteDropout, IsDrawnFromTheFirstSampleOfTheMicroBatch) {
  Stream stream(1);
  adopt_threads(stream);
  StepInputs inputs{};
  inputs.seed = 77;
  inputs.first_sample = 40;
  std::vector<AttentionDropout> drawn(2, {.seed = -1, .offset = -1});
  write_dropout(stream, {.probability = 0.5f, .site = 3, .sample_offset = 2}, &inputs,
                drawn.data());
  stream.wait();
  EXPECT_EQ(drawn[0], attention_dropout(77, 3, 42));
  EXPECT_EQ(drawn[1], (AttentionDropout{.seed = -1, .offset = -1}));
}

}  // namespace
}  // namespace zero::kernels::vendor
