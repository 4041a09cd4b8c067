// Ranks: 1
#include "src/train/trainer.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/models.hpp"

namespace zero::train {
namespace {

/// The memory of a plan for one rank that sums two micro-batches in fp32, all zeros.
class Health : public ::testing::Test {
 protected:
  std::string broken_by(float gradient, GradientDtype kept_in) {
    RunConfig config;
    config.model = testing_support::model_config(
        {.counts = {{"layers", 1}, {"width", 64}, {"heads", 2}}, .rates = {{"dropout", 0}}});
    config.data.train = "synthetic";
    config.data.sequence_length = 16;
    config.run.steps = 1;
    config.train_micro_batch_size_per_gpu = 1;
    config.gradient_accumulation_steps = 2;
    config.bf16.enabled = true;
    config.numerics.gradient_dtype = kept_in;
    const setup::Build made = setup::build(config, {});
    std::vector<std::vector<std::byte>> memory;
    for (const plan::Buffer& buffer : made.plan.buffers) memory.emplace_back(size_t(buffer.bytes));
    const state::StateView view{.plan = &made.plan, .rank = 0, .bytes = [&](int32_t buffer) {
                                  return std::span(memory[size_t(buffer)]);
                                }};
    const plan::Unit& unit = made.plan.units[1];
    view.values<float>(unit.gradient)[size_t(unit.parameters[0].begin) + 17] = gradient;
    return first_nonfinite_gradient(view);
  }
};

TEST_F(Health, NamesTheTensorAndTheElementThatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(broken_by(infinity, GradientDtype::fp32).ends_with(", element 17"));
  EXPECT_EQ(broken_by(1.0f, GradientDtype::fp32), "");
}

TEST_F(Health, JudgesAGradientAsTheOptimizerRoundsIt) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(broken_by(largest, GradientDtype::fp32), "");
  EXPECT_TRUE(broken_by(largest, GradientDtype::compute).ends_with(", element 17"))
      << "the next bf16 is infinite";
}

}  // namespace
}  // namespace zero::train
