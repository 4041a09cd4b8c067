// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/compile/compile.hpp"

namespace zero::graph {
namespace {

/// Two gated layers between a scaled embedding and a head of its own, without any bias but that of
/// the logits.
Graph decoder(Dtype compute = Dtype::f32) {
  GraphBuilder out({.samples = 1, .length = 8}, compute);
  const auto ids = [&](const std::string& name) {
    return out.input({.name = name, .sample = {8}, .ids = 61});
  };
  const auto parameter = [&](const std::string& name, const Shape& shape) {
    return out.parameter({.name = name, .shape = shape, .deviation = 0.2f});
  };
  out.unit("embedding");
  const TensorId table = parameter("table", {64, 16});
  TensorId x = embedding(out, ids("tokens"), table, kNone, 4.0f);
  for (const std::string name : {"a.", "b."}) {
    out.block(name);
    const TensorId normed = rmsnorm(out, x, parameter(name + "norm", {16}), 1e-6f);
    const TensorId gate =
        gelu_erf(out, linear(out, normed, parameter(name + "gate", {16, 32}), kNone));
    const TensorId open = relu(out, linear(out, normed, parameter(name + "open", {16, 32}), kNone));
    const TensorId both = multiply(out, gate, open);
    x = clamp_f16(
        out, dropout_add(out, linear(out, both, parameter(name + "down", {32, 16}), kNone), x, 0.1f,
                         name));
  }
  out.unit("head");
  const TensorId bias = out.parameter({.name = "logits.bias",
                                       .shape = {64},
                                       .decays = false,
                                       .deviation = 0.2f,
                                       .padding_rows = 3});
  classifier(out, x, parameter("head", {64, 16}), ids("targets"),
             {.vocabulary = 61,
              .chunk_rows = 3,
              .logit_scale = 0.25f,
              .label_smoothing = 0.1f,
              .logit_bias = bias});
  return out.finish();
}

TEST(RmsnormOp, AddsTheGradientOfTheResidualBranch) {
  const Graph graph = differentiate(decoder());
  const Op& last_norm = first(graph, &kRmsnormGrad);
  EXPECT_NE(last_norm.inputs[4], kNone);
  EXPECT_THAT(kinds(graph), ::testing::EndsWith("add rmsnorm_grad embedding_grad"));
}

TEST(RmsnormOp, IsRepeatedBySelectiveRecomputeAndReluIsNot) {
  const Graph graph = recompute(differentiate(decoder()), std::vector(2, Recompute::selective));
  const auto count = [&](OpKind kind) { return std::ranges::count(graph.ops, kind, &Op::kind); };
  EXPECT_EQ(count(&kRmsnorm), 2 * 2);
  EXPECT_EQ(count(&kGeluErf), 2 * 2);
  EXPECT_EQ(count(&kRelu), 2);
}

/// The states after some steps of four micro-batches.
std::vector<std::byte> trained(plan::Request request, Recompute policy, int steps) {
  request.micro_batches = 4 / request.ranks;
  const Graph graph = recompute(differentiate(decoder(request.compute)), std::vector(2, policy));
  const plan::Plan plan = plan::compile(request, graph, {});
  zero::testing::ThreadRanks machine(plan, zero::testing::tiny_rules(request.compute));
  return zero::testing::train(machine, plan, steps).state;
}

TEST(RmsnormOp, TrainsWithTheOpsOfT5ToTheSameBytesAtEveryStage) {
  plan::Request request;
  request.reproducible = true;
  for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    request.compute = compute;
    request.stage = 0, request.ranks = 1;
    const int steps = compute == Dtype::f16 ? 16 : 2;  // the first ones overflow
    const std::vector<std::byte> expected = trained(request, Recompute::none, steps);
    EXPECT_NE(trained(request, Recompute::none, 1), expected) << "nothing was learnt";
    for (int stage : {0, 1, 2, 3}) {
      for (int ranks : {1, 2, 4}) {
        request.stage = stage, request.ranks = ranks;
        const Recompute policy = ranks == 1   ? Recompute::none
                                 : ranks == 2 ? Recompute::full
                                              : Recompute::selective;
        EXPECT_EQ(trained(request, policy, steps), expected)
            << "stage " << stage << " on " << ranks << " ranks in " << name_of(compute);
      }
    }
  }
}

/// The weights of a parameter after so many steps.
std::vector<float> weights_of(const std::string& name, int steps) {
  const plan::Plan plan = plan::compile({}, differentiate(decoder()), {});
  zero::testing::ThreadRanks machine(plan, zero::testing::tiny_rules(Dtype::f32));
  zero::testing::train(machine, plan, steps);
  for (const plan::Unit& unit : plan.units) {
    for (const plan::UnitParameter& place : unit.parameters) {
      const Graph& graph = plan.graphs[0];
      if (graph[graph.parameters[size_t(place.parameter)].tensor].name != name) continue;
      const float* const first = machine.view<float>(0, unit.weight) + place.begin;
      return {first, first + place.numel};
    }
  }
  return {};
}

TEST(RmsnormOp, LeavesTheBiasOfLogitsAsItWas) {
  EXPECT_EQ(weights_of("logits.bias", 1), weights_of("logits.bias", 3));
  EXPECT_NE(weights_of("logits.bias", 1), std::vector<float>(64, 0.0f)) << "it is noise";
  EXPECT_NE(weights_of("a.norm", 1), weights_of("a.norm", 3));
}

}  // namespace
}  // namespace zero::graph
