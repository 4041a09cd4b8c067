// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"

namespace zero::graph {
namespace {

using zero::testing::TriedGraph;

/// T5's feed-forward layers, gated, between tables of their own; every linear layer without bias.
Graph gated(GraphBuilder& out, TensorId (*bend)(GraphBuilder&, TensorId)) {
  out.unit("only");
  TensorId x =
      embedding(out, tiny_ids(out, "tokens"), out.parameter({.name = "table", .shape = {5, 6}}));
  const auto weight = [&](const std::string& name, const Shape& shape) {
    return out.parameter({.name = name + ".weight", .shape = shape});
  };
  const TensorId normed = rmsnorm(out, x, weight("norm", {6}), 1e-6f);
  const TensorId gate = bend(out, linear(out, normed, weight("gate", {6, 10}), kNone));
  const TensorId open = linear(out, normed, weight("open", {6, 10}), kNone);
  const TensorId down = linear(out, multiply(out, gate, open), weight("down", {10, 6}), kNone);
  x = clamp_f16(out, dropout_add(out, down, x, 0, "sum"));
  classifier(out, x, weight("head", {5, 6}), tiny_ids(out, "targets"), 5, 8);
  return out.finish();
}

Graph gated(TensorId (*bend)(GraphBuilder&, TensorId), Dtype compute = Dtype::f32) {
  GraphBuilder out({.samples = 2, .length = 4}, compute);
  return gated(out, bend);
}

TEST(ElementwiseOps, HaveTheSlopesOfTheLoss) {
  for (auto* bend : {&gelu, &gelu_erf, &relu, &squared_relu}) {
    TriedGraph tried(gated(bend));
    tried.expect_slopes();
  }
}

TEST(ElementwiseOps, ClampIsThereInFp16Alone) {
  EXPECT_EQ(kinds(gated(relu)),
            "embedding rmsnorm linear relu linear multiply linear dropout_add classifier");
  EXPECT_THAT(kinds(gated(relu, Dtype::f16)), ::testing::EndsWith("dropout_add clamp classifier"));
}

TEST(ElementwiseOps, SlopesThatAreToldFromTheOutputKeepNoInput) {
  const Graph graph = differentiate(gated(relu, Dtype::f16));
  for (const auto& [kind, grad] : {std::pair{&kRelu, &kReluGrad}, {&kClamp, &kClampGrad}})
    EXPECT_EQ(first(graph, grad).inputs[0], first(graph, kind).outputs[0]) << kind->name;
}

TEST(ElementwiseOps, AProductIsItsOwnGradientForEitherFactor) {
  const Graph graph = differentiate(gated(gelu));
  const Op& forward = first(graph, &kMultiply);
  EXPECT_EQ(std::ranges::count(graph.ops, &kMultiply, &Op::kind), 3);
  int found = 0;
  for (const Op& op : graph.ops) {
    if (op.kind != &kMultiply || !op.backward) continue;
    EXPECT_EQ(op.inputs[1], forward.inputs[size_t(1 - found)]);
    ++found;
  }
}

}  // namespace
}  // namespace zero::graph
