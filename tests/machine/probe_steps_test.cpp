// Ranks: 1
#include "src/machine/probe_steps.hpp"

#include <gtest/gtest.h>

namespace zero::machine {
namespace {

model::Probe brief(double dropout) {
  model::Probe probe = model::catalogue().families.front()->probe(model::ProbeSize::brief);
  probe.model.numbers.rates.at("dropout") = dropout;
  return probe;
}

TEST(ProbeSteps, HaveAShareForEachKindOfOpThatTheyRun) {
  const plan::Machine machine{.name = "m", .product_flops = 1e9, .memory_bandwidth = 1e9};
  ProbeSteps steps(brief(0), machine, 1, Dtype::f32);
  for (int i = 0; i < 3; ++i) EXPECT_GT(steps.share_of_a_step(), 0);
  const auto shares = steps.shares_of_kinds();
  for (const char* kind : {"linear", "gelu", "adam", "decide"}) {
    ASSERT_TRUE(shares.contains(kind)) << kind;
    EXPECT_GT(shares.at(kind), 0) << kind;
  }
  EXPECT_FALSE(shares.contains("attention"));
  const plan::Machine fast{.name = "m", .product_flops = 1e15, .memory_bandwidth = 1e15};
  const auto exponentials = steps.exponentials_of_kinds(fast);
  ASSERT_EQ(exponentials.size(), 3u) << "attention both ways and the classifier";
  for (const auto& [kind, seconds] : exponentials) EXPECT_GT(seconds, 0) << kind;
  EXPECT_GT(steps.ops(), int64_t(shares.size()));
  EXPECT_EQ(steps.draws_a_second(), 0) << "nothing is dropped";
}

TEST(ProbeSteps, DrawNumbersInTheTimeBeyondTheForecast) {
  const plan::Machine fast{.name = "m", .product_flops = 1e15, .memory_bandwidth = 1e15};
  ProbeSteps steps(brief(0.125), fast, 1, Dtype::f32);
  EXPECT_GT(steps.draws_a_second(), 0);
  const plan::Machine slow{.name = "m", .product_flops = 1, .memory_bandwidth = 1e9};
  EXPECT_EQ(ProbeSteps(brief(0.125), slow, 1, Dtype::f32).draws_a_second(), 0)
      << "steps of more than a second are not taken";
}

}  // namespace
}  // namespace zero::machine
