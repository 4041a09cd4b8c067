// Ranks: 1
#include "zero/compile/compile.hpp"

#include <gtest/gtest.h>

#include "tests/support/tiny_plans.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::plan {
namespace {

const Request kOnDisk{.stage = 1, .optimizer_home = Tier::nvme};

testing::TinyModel model_of(int layers) {
  testing::TinyModel model;
  model.gpt2.layers = layers;
  return model;
}

Machine machine_with(double disk_bandwidth) {
  return {.name = "test",
          .product_flops = 1e9,
          .memory_bandwidth = 1e9,
          .host_bandwidth = 1e12,
          .copy_bandwidth = 1e12,
          .disk_read_bandwidth = disk_bandwidth,
          .disk_write_bandwidth = disk_bandwidth,
          .disk_is_measured = true};
}

int units_for(const Request& request, int layers, const Machine& machine) {
  return staged_units_for(request, testing::tiny_training_graph(model_of(layers), Dtype::f32),
                          machine);
}

Forecast made_with(int staged, int layers, const Machine& machine) {
  Request request = kOnDisk;
  request.staged_units = staged;
  return forecast(testing::tiny_plan(request, model_of(layers)), machine);
}

/// The rate at which a step's reads and writes take as long as its compute.
double as_slow_as_compute(int layers) {
  const Forecast made = made_with(4, layers, machine_with(1));
  return double(made.disk[kStep].bytes_read) / made.lane_seconds[size_t(Lane::compute)];
}

TEST(Compile, IsInterruptedAtShortIntervalsAndEndsByWhatIsThrown) {
  const graph::Graph graph = testing::tiny_training_graph(model_of(2), Dtype::f32);
  struct Ended {};
  int asked = 0;
  const Plan whole = compile(kOnDisk, graph, {}, [&] { ++asked; });
  EXPECT_GE(asked, 6) << "writing, packing, waits and the proof take long";
  EXPECT_EQ(whole.hash(), compile(kOnDisk, graph, {}).hash());
  int left = 3;
  EXPECT_THROW(compile(kOnDisk, graph, {},
                       [&] {
                         if (--left == 0) throw Ended();
                       }),
               Ended);
}

TEST(StagedUnits, AreFourWhereADiskIsFast) {
  EXPECT_EQ(units_for(kOnDisk, 20, machine_with(1e12)), 4);
}

TEST(StagedUnits, AreAllThatThereAreOfASmallModel) {
  EXPECT_EQ(units_for(kOnDisk, 1, machine_with(1e12)), 2);
}

TEST(StagedUnits, AreFewThatHideADiskAsSlowAsCompute) {
  const Machine machine = machine_with(as_slow_as_compute(20));
  const int units = units_for(kOnDisk, 20, machine);
  const auto seconds = [&](int staged) { return made_with(staged, 20, machine).step_seconds; };
  for (int other = 4; other <= 21; ++other) EXPECT_LE(seconds(units), 1.06 * seconds(other));
  EXPECT_GT(seconds(units - 3), 1.02 * seconds(units));
  EXPECT_LT(units, 20);
}

TEST(StagedUnits, AreNeverMoreThanThreeQuartersOfAll) {
  const Machine machine = machine_with(as_slow_as_compute(10));
  EXPECT_LT(made_with(11, 10, machine).step_seconds, made_with(5, 10, machine).step_seconds);
  EXPECT_LE(units_for(kOnDisk, 10, machine), 8) << "of eleven";
}

TEST(StagedUnits, OfADiskThatNobodyHasMeasuredAreThoseOfOneAsSlowAsCompute) {
  const int slow = units_for(kOnDisk, 20, machine_with(as_slow_as_compute(20)));
  Machine unknown = machine_with(1e12);
  unknown.disk_is_measured = false;
  EXPECT_EQ(units_for(kOnDisk, 20, unknown), slow);
}

TEST(StagedUnits, OfHostMemoryAreFourWhereCopiesAreFast) {
  EXPECT_EQ(units_for({.stage = 1, .optimizer_home = Tier::host}, 20, machine_with(1)), 4);
}

/// With memory of its own; of its host Adam's and copies' bytes a second.
Machine device_with(double host_bandwidth, double copy_bandwidth) {
  return {.name = "test",
          .product_flops = 1e9,
          .has_memory = true,
          .memory_bandwidth = 1e12,
          .host_bandwidth = host_bandwidth,
          .copy_bandwidth = copy_bandwidth};
}

double share_for(const Request& request, const Machine& machine) {
  return device_update_share_for(
      request, testing::tiny_training_graph(model_of(20), request.compute), machine);
}

const Request kOnHost{.stage = 1, .compute = Dtype::bf16, .optimizer_home = Tier::host};

double seconds_with(double share, const Machine& machine) {
  Request request = kOnHost;
  request.device_update_share = share;
  return forecast(testing::tiny_plan(request, model_of(20)), machine).step_seconds;
}

TEST(DeviceUpdateShare, IsNoneWhereTheHostsAdamIsFastAndNearlyAllWhereItIsSlow) {
  EXPECT_EQ(share_for(kOnHost, device_with(1e12, 1e7)), 0);
  EXPECT_GE(share_for(kOnHost, device_with(1e6, 1e12)), 0.875);
}

TEST(DeviceUpdateShare, IsBetweenWhereBothTakeAboutAsLong) {
  // 10 bytes of states cross each way; the host's Adam reads and writes 26.
  const Machine machine = device_with(2.6e7, 1e7);
  const double share = share_for(kOnHost, machine);
  EXPECT_GT(share, 0.2);
  EXPECT_LT(share, 0.8);
  EXPECT_LT(seconds_with(share, machine), 0.9 * seconds_with(0, machine));
  EXPECT_LT(seconds_with(share, machine), 0.9 * seconds_with(1, machine));
}

TEST(DeviceUpdateShare, IsNoneWhereTheDeviceIsTheHostAndWhereStatesRestOnTheDevice) {
  Machine host = device_with(1e6, 1e12);
  host.has_memory = false;
  EXPECT_EQ(share_for(kOnHost, host), 0);
  EXPECT_EQ(share_for({.stage = 1}, device_with(1e6, 1e12)), 0);
}

TEST(DeviceUpdateShare, OfStatesOnDiskCountsTheDiskToo) {
  Machine machine = device_with(1e6, 1e12);
  machine.disk_read_bandwidth = machine.disk_write_bandwidth = 1e12;
  EXPECT_GE(share_for(kOnDisk, machine), 0.875);
  machine.disk_read_bandwidth = 1e4;
  EXPECT_EQ(share_for(kOnDisk, machine), 0) << "what the disk hides is no gain";
}

}  // namespace
}  // namespace zero::plan
