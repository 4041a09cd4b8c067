// Ranks: 1

#include "zero/plan/forecast.hpp"

#include <gtest/gtest.h>

#include "src/compile/passes.hpp"
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

// Elements sent a rank and step, times ranks / (ranks - 1), in units of the parameters P:
// stage 1 2P, stage 2 (A + 1) P, stage 3 A P reduced and 2 A P gathered.
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

/// Sums what all kinds of op of a plan have of one number.
template <class Number>
double sum_of(const Plan& plan, const Machine& machine, Number KindForecast::*number) {
  double sum = 0;
  for (const auto& [name, kind] : kinds_of(plan, machine)) sum += double(kind.*number);
  return sum;
}

TEST(Forecast, CountsSharesOfKindsWhatAnOpTakesBesideItsWorkAndRandomNumbers) {
  testing::TinyModel model;
  model.gpt2.dropout = 0;
  const Plan plan = testing::tiny_plan(request_of(0, 1, 1), model);
  const Machine peaks{.name = "peaks", .product_flops = 1e9, .memory_bandwidth = 1e9};
  const double step = forecast(plan, peaks).step_seconds;
  EXPECT_NEAR(sum_of(plan, peaks, &KindForecast::seconds), step, 1e-12) << "one lane works";
  Machine machine = peaks;
  machine.kind_shares["linear"] = 0.5;
  const double linear = kinds_of(plan, peaks).at("linear").seconds;
  EXPECT_NEAR(forecast(plan, machine).step_seconds, step + linear, 1e-12);
  machine.op_seconds = 1e-3;
  const double ops = sum_of(plan, peaks, &KindForecast::calls);
  EXPECT_NEAR(forecast(plan, machine).step_seconds, step + linear + 1e-3 * ops, 1e-9);
  EXPECT_EQ(sum_of(plan, peaks, &KindForecast::draws), 0);
  model.gpt2.dropout = 0.1f;
  const Plan drops = testing::tiny_plan(request_of(0, 1, 1), model);
  // Two layers, 8 tokens of 16: the embedding and two branches a layer, forward and backward; half
  // of two heads' 8 x 8 scores likewise.
  EXPECT_EQ(sum_of(drops, peaks, &KindForecast::draws), 2 * (5 * 8 * 16 + 2 * 2 * 8 * 8 / 2));
  machine = peaks;
  const double without = forecast(drops, machine).step_seconds;
  machine.random_rate = 1e6;
  EXPECT_NEAR(forecast(drops, machine).step_seconds, without + 2 * 768e-6, 1e-9);
}

TEST(Forecast, CountsExponentialsBesideProductsOfTheShareOfLinear) {
  const Plan plan = testing::tiny_plan(request_of(0, 1, 1));
  Machine machine{.name = "peaks", .product_flops = 1e9, .memory_bandwidth = 1e9};
  const KindForecast before = kinds_of(plan, machine).at("attention");
  EXPECT_EQ(before.exponentials, 2 * 2 * 8 * 8 / 2) << "two layers, two heads, half of 8 x 8";
  machine.kind_shares["linear"] = 0.5;
  machine.kind_shares["attention"] = 100;
  machine.exponential_seconds["attention"] = 1e-6;
  EXPECT_NEAR(kinds_of(plan, machine).at("attention").seconds, 2 * before.seconds + 128e-6, 1e-12);
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

// There are nine units; what is not read during backward is read during forward, which is shorter.
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

// 4 ranks on nodes of 2: of 3 parts for others, one leaves in two levels, two in one.
TEST(Forecast, CountsWhatLeavesANode) {
  const Plan plan = testing::tiny_plan(request_of(3, 4, 1));
  const auto one = collectives_of(plan, Borders{comm::Border{.node_ranks = 2}})[kStep];
  const comm::Border once{.node_ranks = 2, .gathers_once = true, .sums_once = true};
  const auto two = collectives_of(plan, Borders{once})[kStep];
  const auto& [gathered, reduced, words] = one;
  ASSERT_GT(gathered.bytes, 0);
  EXPECT_EQ(gathered.node_bytes, gathered.bytes / 3 * 2);
  EXPECT_EQ(reduced.node_bytes, reduced.bytes / 3 * 2);
  EXPECT_EQ(two[0].node_bytes, gathered.bytes / 3);
  EXPECT_EQ(two[1].node_bytes, 4 * reduced.elements / 3) << "fp32";
  EXPECT_EQ(two[2].node_bytes, words.bytes / 3);
  EXPECT_EQ(collectives_of(plan, {})[kStep][0].node_bytes, 0) << "one node";
}

/// Bytes of a node of four ranks in a step: weights in bf16, then sums.
std::array<int64_t, 2> crossing(int micro_batches) {
  const Plan plan = testing::tiny_plan({.stage = 3,
                                        .ranks = 8,
                                        .group_ranks = 4,
                                        .micro_batches = micro_batches,
                                        .compute = Dtype::bf16});
  Machine machine;
  machine.node_ranks = 4;
  const auto sent = forecast(plan, machine).collectives[kStep];
  return {4 * sent[0].node_bytes, 4 * sent[1].node_bytes};
}

// Two nodes, each a group: (2 + 4) P / 2 bytes leave each, at any accumulation.
TEST(Forecast, OfGroupsCrossesBetweenNodesOnceAStep) {
  const Plan plan = testing::tiny_plan({.stage = 3, .ranks = 8, .group_ranks = 4});
  int64_t numel = 0;
  for (const Unit& unit : plan.units) numel += unit.numel;
  for (const int micro_batches : {1, 3, 8}) {
    EXPECT_EQ(crossing(micro_batches), (std::array<int64_t, 2>{2 * numel / 2, 4 * numel / 2}));
  }
}

TEST(Forecast, OfGroupsSharesALinkAmongThoseThatCrossTogether) {
  Machine machine;
  machine.node_ranks = 4;
  machine.node_link_bandwidth = 8;
  const Groups groups{.ranks = 16, .group_ranks = 2};
  const Machine within = seen_by(machine, groups, Team::group);
  EXPECT_EQ(nodes_of(within, 2), 1);
  const Machine across = seen_by(machine, groups, Team::across);
  EXPECT_EQ(across.node_ranks, 2) << "of each place on a node";
  EXPECT_EQ(across.node_link_bandwidth, 4) << "beside the other place";
  EXPECT_TRUE(borders_of(machine, groups)[size_t(Team::across)].sums_once);
  EXPECT_EQ(borders_of(machine, groups)[size_t(Team::group)].node_ranks, 0);
}

TEST(MachineProfile, KnowsItsNodes) {
  const Machine v100 = machine_profile("v100_32g", Dtype::f16);
  EXPECT_EQ(v100.gpus_per_node, 8);
  EXPECT_EQ(ranks_on_a_node(v100, 1), 1);
  EXPECT_EQ(ranks_on_a_node(v100, 8), 8);
  EXPECT_EQ(ranks_on_a_node(v100, 32), 8);
  EXPECT_EQ(ranks_on_a_node(v100, 12), 6) << "two nodes, as equal as can be";
  EXPECT_EQ(ranks_on_a_node(v100, 13), 7);
  EXPECT_EQ(ranks_on_a_node(machine_profile("host", Dtype::f16), 32), 32);
  const Machine titans = machine_profile("titan_rtx_24g", Dtype::f16);
  EXPECT_EQ(titans.gpus_per_node, 2);
  EXPECT_EQ(titans.host_bytes, 60'000'000'000);
  EXPECT_EQ(machine_profile("rtx_3090_24g", Dtype::f16).host_bytes, 96'000'000'000);
  EXPECT_EQ(machine_profile("h100_80g", Dtype::f16).host_bytes, 1'800'000'000'000);
}

TEST(MachineProfile, TellsCardsOfOneModelByTheirMemory) {
  EXPECT_EQ(profile_of("NVIDIA A100-SXM4-40GB"), "a100_40g");
  EXPECT_EQ(profile_of("NVIDIA A100-SXM4-80GB, 1.00 GiB used"), "a100_80g");
  EXPECT_EQ(profile_of("NVIDIA A100 80GB PCIe"), "a100_80g");
  EXPECT_EQ(profile_of("NVIDIA B200"), "b200_192g");
  EXPECT_EQ(machine_profile("a100_40g", Dtype::bf16).device_bytes >> 30, 39);
  EXPECT_EQ(machine_profile("b200_192g", Dtype::bf16).device_bytes >> 30, 178);
}

TEST(MachineProfile, IsFoundByTheNameOfADevice) {
  EXPECT_EQ(profile_of("NVIDIA H200, 1.00 GiB used, 138.00 GiB free"), "h200_141g");
  EXPECT_EQ(profile_of("Tesla V100-SXM2-32GB"), "v100_32g");
  EXPECT_EQ(profile_of("abacus"), "host");
  EXPECT_EQ(profile_of(""), "host");
  EXPECT_TRUE(machine_profile("h200_141g", Dtype::bf16).has_memory);
  EXPECT_FALSE(machine_profile("host", Dtype::bf16).has_memory);
}

TEST(MachineProfile, KnowsWhatCommunicatorsTake) {
  const CommunicatorMemory h100 = machine_profile("h100_80g", Dtype::bf16).communicators;
  EXPECT_EQ(h100.of(1, 1), 0) << "one rank has no peer";
  // 688 MB of a ring and 3.28 GB of an all-to-all, with 64 MiB where shards arrive.
  EXPECT_NEAR(double(h100.of(8, 8)), 688e6 + 3.28e9 + 67e6, 1e6);
  EXPECT_EQ(h100.of(32, 8), h100.of(8, 8)) << "a node decides";
  const CommunicatorMemory pcie = machine_profile("titan_rtx_24g", Dtype::f16).communicators;
  EXPECT_LT(pcie.of(2, 2), 128 << 20) << "slow links have few channels";
  EXPECT_EQ(machine_profile("host", Dtype::f32).communicators.of(8, 8), 0);
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

constexpr const char* kMachines[] = {"host", "v100_32g", "titan_rtx_24g", "h100_80g", "b200_192g"};

/// How much longer a step with a loop takes than with every micro-batch written out, on the machine
/// where that is most.
double cost_of_loop(Request request, const graph::Graph& graph) {
  request.compute = Dtype::bf16;
  const Plan looped = compile_unproved(request, graph, {});
  EXPECT_TRUE(looped.bodies[kStep].loop.is_there());
  request.most_written = request.micro_batches;
  const Plan full = compile_unproved(request, graph, {});
  for (size_t tier = 0; tier < kTiers; ++tier)
    EXPECT_LE(looped.arena_bytes[tier], full.arena_bytes[tier]) << "tier " << tier;
  double most = 0;
  for (const char* const name : kMachines) {
    const Machine machine = machine_profile(name, request.compute);
    most = std::max(most,
                    forecast(looped, machine).step_seconds / forecast(full, machine).step_seconds);
  }
  return most;
}

graph::Graph small_gpt2(graph::Recompute recompute) {
  testing::TinyModel model;
  model.gpt2 = {.layers = 4, .width = 768, .heads = 12, .vocabulary = 50257, .positions = 1024};
  model.micro = {.samples = 1, .length = 1024};
  model.recompute = recompute;
  return testing::tiny_training_graph(model, Dtype::bf16);
}

/// Where states and weights rest.
struct Homes {
  int stage;
  Tier optimizer = Tier::device, weights = Tier::device;
};

TEST(Forecast, ALoopTakesAtMostTwoPercentLongerThanItsStepWrittenOut) {
  for (const auto recompute : {graph::Recompute::none, graph::Recompute::full}) {
    const graph::Graph graph = small_gpt2(recompute);
    for (const Homes& homes :
         {Homes{1}, Homes{2}, Homes{3}, Homes{1, Tier::host}, Homes{2, Tier::host},
          Homes{3, Tier::host}, Homes{3, Tier::host, Tier::host}, Homes{1, Tier::nvme},
          Homes{2, Tier::nvme}, Homes{3, Tier::nvme}}) {
      for (const int micro_batches : {17, 64}) {
        for (const bool reproducible : {false, true}) {
          Request request{.stage = homes.stage, .ranks = 8, .micro_batches = micro_batches};
          request.reproducible = reproducible;
          request.optimizer_home = homes.optimizer;
          request.weight_home = homes.weights;
          EXPECT_LE(cost_of_loop(request, graph), 1.02)
              << "stage " << homes.stage << ", states in " << name_of(homes.optimizer) << ", "
              << micro_batches << " micro-batches, reproducible " << reproducible << ", recompute "
              << int(recompute);
        }
      }
    }
  }
}

TEST(Forecast, ALoopWhoseMicroBatchesWaitForADiskTakesAtMostFivePercentLonger) {
  const graph::Graph graph = small_gpt2(graph::Recompute::full);
  for (const bool activations : {false, true}) {
    for (const int micro_batches : {65, 100}) {
      Request request{.stage = 3, .ranks = 8, .micro_batches = micro_batches};
      request.optimizer_home = Tier::nvme;
      (activations ? request.activation_home : request.weight_home) = Tier::nvme;
      EXPECT_LE(cost_of_loop(request, graph), 1.05) << "activations " << activations;
      request.micro_batches = 64;
      EXPECT_FALSE(compile_unproved(request, graph, {}).bodies[kStep].loop.is_there());
    }
  }
}

TEST(Forecast, AStepOfFewMicroBatchesIsWrittenOut) {
  const graph::Graph graph = small_gpt2(graph::Recompute::none);
  Request request{.stage = 2, .ranks = 8, .micro_batches = 16};
  EXPECT_FALSE(compile_unproved(request, graph, {}).bodies[kStep].loop.is_there());
  request.micro_batches = 17;
  EXPECT_TRUE(compile_unproved(request, graph, {}).bodies[kStep].loop.is_there());
}

/// What is read in front of a loop is read beside it, so all the rounds count that the forecast
/// does not replay.
TEST(Forecast, ADiskThatALoopLeavesAloneReadsBesideEveryRound) {
  const graph::Graph graph = small_gpt2(graph::Recompute::none);
  const auto seconds = [&](int micro_batches, Tier optimizer) {
    Request request{.stage = 2, .ranks = 8, .micro_batches = micro_batches};
    request.compute = Dtype::bf16;
    request.optimizer_home = optimizer;
    return forecast(compile_unproved(request, graph, {}), machine_profile("h100_80g", Dtype::bf16))
        .step_seconds;
  };
  const double few = seconds(17, Tier::nvme), many = seconds(1001, Tier::nvme);
  EXPECT_GT(few, 1.5 * seconds(17, Tier::host)) << "a disk is what 17 wait for";
  EXPECT_NEAR(many / seconds(1001, Tier::host), 1.0, 0.03) << "and 1001 do not";
}

}  // namespace
}  // namespace zero::plan
