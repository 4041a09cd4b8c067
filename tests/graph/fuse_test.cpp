// Ranks: 1

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "src/model/gpt2.hpp"
#include "tests/support/forward_of.hpp"
#include "tests/support/tiny_graph.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

Graph tiny_gpt2(bool training = true) {
  return model::forward_of(
      model::Gpt2{.layers = 3, .width = 16, .heads = 2, .vocabulary = 61, .positions = 8},
      {.micro = {.samples = 2, .length = 8}, .compute = Dtype::f32, .training = training});
}

Graph trained(Recompute policy) {
  return recompute(differentiate(tiny_gpt2()), std::vector<Recompute>(3, policy));
}

/// The products of the kinds that fuse() makes.
struct Made {
  int gelu, add, input_gelu_grad, parameter_grad;
  bool operator==(const Made&) const = default;
};

int ops_of(const Graph& graph, OpKind kind) {
  return int(std::ranges::count(graph.ops, kind, &Op::kind));
}

Made made(const Graph& graph) {
  return {ops_of(graph, &kLinearGelu), ops_of(graph, &kLinearAdd),
          ops_of(graph, &kLinearInputGeluGrad), ops_of(graph, &kLinearParameterGrad)};
}

/// Every activation is written before it is read, and written once.
void expect_order(const Graph& graph) {
  std::map<TensorId, int> written;
  for (const Op& op : graph.ops) {
    for (TensorId input : op.inputs) {
      if (input == kNone || graph[input].role != Role::activation) continue;
      EXPECT_EQ(written[input], 1) << graph[input].name << " is read before it is written";
    }
    for (TensorId output : op.outputs) {
      if (graph[output].role != Role::activation) continue;
      EXPECT_EQ(++written[output], 1) << graph[output].name << " is written twice";
    }
  }
}

TEST(Fuse, OfAGpt2IsOneProductWithGeluBothWaysAndTwoWithResidualsALayer) {
  const Graph graph = fuse(trained(Recompute::none));
  EXPECT_EQ(made(graph), (Made{3, 2 * 3, 3, 3}));
  for (OpKind gone : {&kGelu, &kGeluGrad, &kLinearBiasGrad, &kDropoutAdd}) {
    EXPECT_EQ(ops_of(graph, gone), 0) << gone->name;
  }
  EXPECT_EQ(ops_of(graph, &kLinear), 3);
  EXPECT_EQ(ops_of(graph, &kLinearWeightGrad), 3 * 3);
  EXPECT_EQ(ops_of(graph, &kLinearInputGrad), 3 * 3);
  expect_order(graph);
}

TEST(Fuse, WhatFullRecomputeRepeatsIsFusedLikeWhatItRepeats) {
  const Graph graph = fuse(trained(Recompute::full));
  // The last addition of a layer is not repeated.
  EXPECT_EQ(made(graph), (Made{2 * 3, 3 * 3, 3, 3}));
  EXPECT_EQ(ops_of(graph, &kGelu), 0);
  expect_order(graph);
}

TEST(Fuse, SelectiveRecomputeStillRepeatsGeluAlone) {
  const Graph graph = fuse(trained(Recompute::selective));
  EXPECT_EQ(made(graph), (Made{3, 2 * 3, 3, 3}));
  EXPECT_EQ(ops_of(graph, &kGelu), 3);
  for (const Op& op : graph.ops) EXPECT_TRUE(op.kind != &kGelu || op.repeated);
  expect_order(graph);
}

TEST(Fuse, OfAnEvaluationHasForwardOpsAlone) {
  EXPECT_EQ(made(fuse(tiny_gpt2(false))), (Made{3, 2 * 3, 0, 0}));
}

/// The op that writes each bias gradient.
std::map<std::string, OpKind> writers_of_bias_gradients(const Graph& graph) {
  std::map<std::string, OpKind> writers;
  for (const Op& op : graph.ops) {
    for (TensorId output : op.outputs) {
      const Tensor& tensor = graph[output];
      if (tensor.role != Role::gradient) continue;
      const std::string& name = graph[tensor.parameter].name;
      if (name.find(".c_") == std::string::npos || !name.ends_with(".bias")) continue;
      EXPECT_TRUE(writers.emplace(name, op.kind).second) << name << " is written twice";
    }
  }
  return writers;
}

TEST(Fuse, BiasesAreAddedWhereDyIsWritten) {
  for (Recompute policy : {Recompute::none, Recompute::selective, Recompute::full}) {
    const std::map<std::string, OpKind> writers = writers_of_bias_gradients(fuse(trained(policy)));
    ASSERT_EQ(writers.size(), 4u * 3);
    for (const std::string layer : {"h.0", "h.1", "h.2"}) {
      EXPECT_EQ(writers.at(layer + ".attn.c_attn.bias"), &kLinearParameterGrad);
      EXPECT_EQ(writers.at(layer + ".attn.c_proj.bias"), &kLayernormGrad);
      EXPECT_EQ(writers.at(layer + ".mlp.c_fc.bias"), &kLinearInputGeluGrad);
      EXPECT_EQ(writers.at(layer + ".mlp.c_proj.bias"), &kLayernormGrad)
          << "of the layer behind, or of the last norm";
    }
  }
}

TEST(Fuse, TheSumBesideAGradientIsOfTheOneThatIsWritten) {
  const Graph before = trained(Recompute::none), after = fuse(before);
  for (const Op& op : before.ops) {
    if (op.kind != &kLinearBiasGrad) continue;
    for (const Op& writer : after.ops) {
      if (writer.kind == &kLinearParameterGrad) continue;
      if (std::ranges::find(writer.outputs, op.outputs[0]) == writer.outputs.end()) continue;
      EXPECT_EQ(writer.outputs.back(), op.outputs[0]);
      EXPECT_EQ(writer.outputs.front(), op.inputs[0]);
    }
  }
}

TEST(Fuse, LeavesResidualsThatDropoutIsInFrontOf) {
  EXPECT_EQ(made(fuse(tiny_forward(2, 0.5f))).add, 0);
  EXPECT_EQ(made(fuse(tiny_forward(2, 0))).add, 2);
}

TEST(Fuse, LeavesAProductThatTheResidualIsToo) {
  Graph graph = tiny_forward(1, 0);
  const auto add = std::ranges::find(graph.ops, &kDropoutAdd, &Op::kind);
  add->inputs[1] = add->inputs[0];
  EXPECT_EQ(made(fuse(graph)).add, 0);
}

TEST(Fuse, KeepsTheOrderAndWhatDoesNotFit) {
  // Between the products of this layer lies attention, so its GELU has none in front of it.
  EXPECT_EQ(kinds(fuse(differentiate(tiny_forward(1, 0.5f)))),
            "embedding layernorm linear attention gelu linear dropout_add layernorm classifier"
            " layernorm_grad dropout_add"
            " linear_parameter_grad linear_input_gelu_grad attention_grad"
            " linear_parameter_grad linear_input_grad"
            " layernorm_grad embedding_grad");
}

TEST(Fuse, ReadsAndWritesWhatTheTwoOpsDid) {
  const Graph before = trained(Recompute::none), after = fuse(before);
  const Op& product = first(before, &kLinearInputGrad);
  const Op& slope = first(before, &kGeluGrad);
  const Op& both = first(after, &kLinearInputGeluGrad);
  EXPECT_EQ(both.inputs,
            (std::vector<TensorId>{product.inputs[0], product.inputs[1], slope.inputs[0]}));
  EXPECT_EQ(both.outputs.front(), slope.outputs.front());
  EXPECT_EQ(both.unit, 3);
  EXPECT_TRUE(both.backward);
  const Op& up = first(after, &kLinearGelu);
  EXPECT_EQ(up.inputs.size(), 3u);
  EXPECT_EQ(after[up.outputs[0]].name, "h.0.mlp.c_fc");
  EXPECT_EQ(up.outputs[1], first(before, &kGelu).outputs[0]);
  const Op& weight = first(after, &kLinearParameterGrad);
  const auto same =
      std::ranges::find(before.ops, weight.outputs[0], [](const Op& op) { return op.outputs[0]; });
  EXPECT_EQ(weight.inputs, same->inputs);
  EXPECT_EQ(weight.outputs[1], std::next(same)->outputs[0]);
  const Op& sum = first(after, &kLinearAdd);
  EXPECT_EQ(sum.inputs[3], first(before, &kDropoutAdd).inputs[1]);
  EXPECT_EQ(sum.outputs, first(before, &kDropoutAdd).outputs);
}

/// The op that writes a tensor.
const Op& writer_of(const Graph& graph, TensorId tensor) {
  const auto writes = [=](const Op& op) {
    return std::ranges::find(op.outputs, tensor) != op.outputs.end();
  };
  return *std::ranges::find_if(graph.ops, writes);
}

TEST(Fuse, CountsOperationsAsTheProductDoes) {
  const Graph before = trained(Recompute::none), after = fuse(before);
  const Op& sum = first(after, &kLinearAdd);
  const std::pair<const Op&, const Op&> pairs[] = {
      {first(before, &kLinearInputGrad), first(after, &kLinearInputGeluGrad)},
      {writer_of(before, first(after, &kLinearParameterGrad).outputs[0]),
       first(after, &kLinearParameterGrad)},
      {writer_of(before, first(before, &kDropoutAdd).inputs[0]), sum}};
  for (const auto& [a, b] : pairs) {
    EXPECT_EQ(a.kind->flops(before, a), b.kind->flops(after, b));
  }
  const Op& up = first(after, &kLinearGelu);
  EXPECT_EQ(up.kind->flops(after, up), 2.0 * 16 * 16 * 64) << "16 rows, 16 wide to 64";
}

TEST(Fuse, WhoAddsABiasHasTheScratchOfItsSum) {
  const Graph before = trained(Recompute::none), after = fuse(before);
  int norms = 0;
  for (const Op& op : before.ops) {
    if (op.kind != &kLinearBiasGrad) continue;
    const Op& writer = writer_of(after, op.outputs[0]);
    const int64_t alone = op.kind->scratch_bytes(before, op, 2);
    if (writer.kind == &kLayernormGrad) {
      ++norms;
      EXPECT_EQ(writer.kind->scratch_bytes(after, writer, 2), 3 * alone);
    } else {
      EXPECT_EQ(writer.kind->scratch_bytes(after, writer, 2), alone);
    }
  }
  EXPECT_EQ(norms, 2 * 3);
}

TEST(Fuse, LeavesAProductThatAnotherOpReadsToo) {
  Graph graph = differentiate(tiny_forward(1, 0));
  const TensorId slope = first(graph, &kLinearInputGrad).outputs[0];
  EXPECT_EQ(made(fuse(graph)).input_gelu_grad, 1);
  graph.ops.push_back({.kind = &kAdd, .inputs = {slope, slope}, .outputs = {slope}});
  EXPECT_EQ(made(fuse(graph)).input_gelu_grad, 0);
}

TEST(Fuse, LeavesNeighboursOfDifferentUnitsPassesOrTensors) {
  const Graph graph = trained(Recompute::none);
  const auto gelus_with = [&](auto change) {
    Graph changed = graph;
    const auto gelu = std::ranges::find(changed.ops, &kGelu, &Op::kind);
    change(*gelu);
    return made(fuse(changed)).gelu;
  };
  EXPECT_EQ(gelus_with([](Op&) {}), 3);
  EXPECT_EQ(gelus_with([](Op& op) { ++op.unit; }), 2);
  EXPECT_EQ(gelus_with([](Op& op) { op.backward = true; }), 2);
  EXPECT_EQ(gelus_with([](Op& op) { op.repeated = true; }), 2);
  EXPECT_EQ(gelus_with([](Op& op) { --op.inputs[0]; }), 2);
}

}  // namespace
}  // namespace zero::graph
