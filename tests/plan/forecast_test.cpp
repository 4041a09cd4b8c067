// Ranks: 1

#include "zero/plan/forecast.hpp"

#include <gtest/gtest.h>

#include "tests/support/tiny_plans.hpp"

namespace zero::plan {
namespace {

Request request_of(int stage, int ranks, int micro_batches) {
  return {.stage = stage,
          .ranks = ranks,
          .micro_batches = micro_batches,
          .compute = Dtype::bf16,
          .keep_distance_numel = 0};
}

int64_t padded_parameters(const Plan& plan) {
  int64_t numel = 0;
  for (const Unit& unit : plan.units) numel += unit.numel;
  return numel;
}

Forecast forecast_of(const Plan& plan) {
  return forecast(plan, machine_profile("h100_80g", plan.request.compute));
}

// Elements sent a rank and step, times ranks / (ranks - 1), in units of the parameters P
// (performance.md 2): stage 1 2P, stage 2 (A + 1) P, stage 3 A P reduced and 2 A P gathered.
TEST(Forecast, SendsTheFormulasElements) {
  for (int ranks : {2, 4}) {
    for (int a : {1, 3}) {
      for (int stage : {0, 1, 2, 3}) {
        const Plan plan = testing::tiny_plan(request_of(stage, ranks, a));
        const int64_t share = padded_parameters(plan) / ranks * (ranks - 1);
        const auto step = forecast_of(plan).collectives[kStep];
        const int64_t gathered[] = {1, 1, 1, 2 * a}, reduced[] = {1, 1, a, a};
        EXPECT_EQ(step[0].elements, gathered[stage] * share) << "stage " << stage << " A " << a;
        EXPECT_EQ(step[1].elements, reduced[stage] * share) << "stage " << stage << " A " << a;
      }
    }
  }
}

TEST(Forecast, OneRankSendsNothing) {
  const Plan plan = testing::tiny_plan(request_of(3, 1, 2));
  const Forecast made = forecast_of(plan);
  for (const auto& body : made.collectives) {
    for (const CollectiveForecast& row : body) EXPECT_EQ(row.calls, 0);
  }
}

// bf16, A = 1: g = 2, o = 10. Bytes a parameter: 14; 4 + 10/N; 2 + 12/N; 14/N.
TEST(Forecast, ModelStatesFollowTheZeroTable) {
  const int n = 4;
  for (int stage : {0, 1, 2, 3}) {
    const Plan plan = testing::tiny_plan(request_of(stage, n, 1));
    const int64_t p = padded_parameters(plan);
    const auto bytes = forecast_of(plan).bytes[size_t(Tier::device)];
    const int64_t weights[] = {2 * p, 2 * p, 2 * p, 2 * p / n};
    const int64_t gradients[] = {2 * p, 2 * p, 2 * p / n, 2 * p / n};
    const int64_t optimizer[] = {10 * p, 10 * p / n, 10 * p / n, 10 * p / n};
    EXPECT_EQ(bytes[size_t(Use::weights)], weights[stage]) << "stage " << stage;
    EXPECT_EQ(bytes[size_t(Use::gradients)], gradients[stage]) << "stage " << stage;
    EXPECT_EQ(bytes[size_t(Use::optimizer)], optimizer[stage]) << "stage " << stage;
  }
}

TEST(Forecast, OverlapShortensTheStepAndExposesLess) {
  Request request = request_of(2, 2, 1);
  const Machine slow_link{.name = "test",
                          .product_flops = 1e9,
                          .memory_bandwidth = 1e9,
                          .link_bandwidth = 1e8,
                          .link_latency = 1e-5};
  const Forecast beside = forecast(testing::tiny_plan(request), slow_link);
  request.overlap = false;
  const Forecast serial = forecast(testing::tiny_plan(request), slow_link);
  EXPECT_LT(beside.step_seconds, serial.step_seconds);
  EXPECT_LT(beside.exposed_seconds, serial.exposed_seconds);
}

/// Memory beside the device is no limit.
Machine slow_to_compute() {
  return {.name = "test",
          .product_flops = 1e9,
          .memory_bandwidth = 1e9,
          .host_bandwidth = 1e12,
          .copy_bandwidth = 1e12};
}

/// A step whose optimizer is on disk, over the longer one of the same step in memory and of what
/// the disk moves, where both take about as long.
double over_the_longer_one(int staged_units) {
  testing::TinyModel model;
  model.gpt2.layers = 8;
  Request request{.stage = 1, .staged_units = staged_units};
  Machine machine = slow_to_compute();
  const double compute = forecast(testing::tiny_plan(request, model), machine).step_seconds;
  request.optimizer_home = Tier::nvme;
  const Plan plan = testing::tiny_plan(request, model);
  // Momentum and variance, each read and written once.
  machine.disk_read_bandwidth = machine.disk_write_bandwidth =
      8 * double(padded_parameters(plan)) / compute;
  const Forecast made = forecast(plan, machine);
  EXPECT_NEAR(made.lane_seconds[size_t(Lane::disk_read)], compute, 1e-9 * compute);
  return made.step_seconds / compute;
}

// Of nine units; what is not read during backward is read during forward, which is shorter.
TEST(Forecast, ADiskAsSlowAsComputeHidesWhereHalfOfTheUnitsAreStaged) {
  EXPECT_GT(over_the_longer_one(1), 1.4);
  EXPECT_LT(over_the_longer_one(5), 1.15);
}

// What is written home last is what backward begins with.
TEST(Forecast, BackwardDoesNotWaitUntilWeightsAreHomeOnDisk) {
  testing::TinyModel model;
  model.gpt2.layers = 20;
  Request request{.stage = 3, .prefetch_numel = 1, .staged_units = 14};
  Machine machine = slow_to_compute();
  const double compute = forecast(testing::tiny_plan(request, model), machine).step_seconds;
  request.optimizer_home = request.weight_home = Tier::nvme;
  const Plan plan = testing::tiny_plan(request, model);
  machine.disk_read_bandwidth = machine.disk_write_bandwidth =
      double(forecast(plan, machine).disk[kStep].bytes_read) / (0.8 * compute);
  EXPECT_LT(forecast(plan, machine).step_seconds, 1.03 * compute);
}

TEST(MachineProfile, IsFoundByTheNameOfADevice) {
  EXPECT_EQ(profile_of("NVIDIA H200, 1.00 GiB used, 138.00 GiB free"), "h200_141g");
  EXPECT_EQ(profile_of("Tesla V100-SXM2-32GB"), "v100_32g");
  EXPECT_EQ(profile_of("abacus"), "host");
  EXPECT_EQ(profile_of(""), "host");
  EXPECT_TRUE(machine_profile("h200_141g", Dtype::bf16).has_memory);
  EXPECT_FALSE(machine_profile("host", Dtype::bf16).has_memory);
}

TEST(MachineProfile, ListsTheKnownMachinesWhenItRefuses) {
  const Machine titan = machine_profile("titan_rtx_24g", Dtype::f16);
  EXPECT_EQ(titan.device_bytes / (1 << 20), 24217) << "23.65 GiB";
  EXPECT_EQ(titan.context_bytes, 1 << 29) << "of which a context takes half a one";
  try {
    machine_profile("abacus", Dtype::f32);
    FAIL() << "abacus is no known machine";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    EXPECT_NE(std::string(error.what()).find("v100_32g"), std::string::npos);
  }
}

}  // namespace
}  // namespace zero::plan
