// Ranks: 1

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/every_stage.hpp"
#include "tests/support/naive_step.hpp"
#include "tests/support/tiny_graph.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/compile/compile.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/graph/operations.hpp"
#include "zero/plan/plan.hpp"

namespace zero::graph {
namespace {

constexpr int64_t kSamples = 2, kLength = 8, kWidth = 16, kInner = 24, kHeads = 2;

/// Two texts of the same tokens: one sees all of itself, of which `counts` says how much there is,
/// and the other what is before it, and the first. Heads together are wider than the model.
struct TwoTexts {
  GraphBuilder out;
  float dropout;
  TensorId counts = kNone;

  TensorId weight(const std::string& name, const Shape& shape) {
    return out.parameter({.name = name + ".weight", .shape = shape, .deviation = 0.2f});
  }
  TensorId layer(TensorId x, const std::string& name, int64_t from, int64_t to) {
    return linear(out, x, weight(name, {from, to}),
                  out.parameter({.name = name + ".bias", .shape = {to}, .deviation = 0.1f}));
  }
  TensorId project(TensorId attended, TensorId x, const std::string& name) {
    return add(out, layer(attended, name + ".o", kInner, kWidth), x, name + ".sum");
  }
  TensorId bias(const std::string& name, bool bidirectional) {
    return relative_bias(
        out, weight(name, {8, kHeads}),
        {.queries = kLength, .keys = kLength, .max_distance = 6, .bidirectional = bidirectional});
  }
  TensorId self(TensorId x, const std::string& name, AttentionOptions options) {
    options.heads = kHeads;
    options.dropout = dropout;
    options.divisor = 1;
    return project(attention(out, layer(x, name + ".qkv", kWidth, 3 * kInner), options), x, name);
  }
  TensorId cross(TensorId x, TensorId other, const std::string& name) {
    const TensorId q = layer(x, name + ".q", kWidth, kInner);
    const TensorId kv = layer(other, name + ".kv", kWidth, 2 * kInner);
    return project(cross_attention(out, q, kv,
                                   {.heads = kHeads,
                                    .dropout = dropout,
                                    .causal = false,
                                    .divisor = 1,
                                    .key_counts = counts}),
                   x, name);
  }

  Graph finish(bool counted) {
    out.unit("embedding");
    const TensorId table =
        out.parameter({.name = "table", .shape = {64, kWidth}, .padding_rows = 3});
    const TensorId places = out.parameter({.name = "places", .shape = {kLength, kWidth}});
    if (counted) counts = out.input({.name = "counts", .sample = {1}});
    const TensorId tokens = out.input({.name = "tokens", .sample = {kLength}, .ids = 61});
    const TensorId both = bias("encoder", true), before = bias("decoder", false);
    TensorId x = embedding(out, tokens, table, places), y = x;
    for (const std::string name : {"a", "b"}) {
      out.block(name);
      x = self(x, name, {.heads = 0, .causal = false, .bias = both, .key_counts = counts});
    }
    for (const std::string name : {"c", "d"}) {
      out.block(name);
      y = self(y, name, {.heads = 0, .bias = before});
      y = cross(y, x, name + ".cross");
    }
    out.unit("embedding");
    classifier(out, y, table, out.input({.name = "targets", .sample = {kLength}, .ids = 61}), 61,
               8);
    return out.finish();
  }
};

Graph two_texts(Dtype compute, float dropout, bool counted) {
  return TwoTexts{.out = GraphBuilder({.samples = kSamples, .length = kLength}, compute),
                  .dropout = dropout}
      .finish(counted);
}

/// A step of a whole text of 5 tokens, and an empty one.
struct CountedTexts : testing::NaiveStep {
  explicit CountedTexts(const Graph& of) : NaiveStep(of, 0.15f) {
    std::ranges::copy(std::array{5, 0}, naive.values<int32_t>(graph.input("counts")).data());
  }
};

TEST(AttentionOperation, GradientIsTheDifferenceQuotientOfTheLoss) {
  const Graph graph = differentiate(two_texts(Dtype::f32, 0.25f, true));
  CountedTexts(graph).expect_gradients(0x1p-8);
}

TEST(AttentionOperation, AddsTheGradientsOfABiasThatLayersShare) {
  const Graph graph = differentiate(two_texts(Dtype::bf16, 0, false));
  EXPECT_EQ(std::ranges::count(graph.ops, &kRelativeBias, &Op::kind), 2);
  EXPECT_EQ(std::ranges::count(graph.ops, &kRelativeBiasGrad, &Op::kind), 2);
  EXPECT_EQ(std::ranges::count(graph.ops, &kAttentionGrad, &Op::kind), 4);
  EXPECT_EQ(std::ranges::count(graph.ops, &kCrossAttentionGrad, &Op::kind), 2);
  int sums = 0;
  for (const Op& op : graph.ops) {
    if (op.kind != &kAdd || !op.backward) continue;
    sums += graph[op.outputs[0]].shape == Shape({kHeads, 2 * kLength - 1});
  }
  EXPECT_EQ(sums, 2);
}

/// So many layers over one text, which sees all of itself, each with the same bias.
Graph layers_of_one_bias(int layers) {
  TwoTexts text{.out = GraphBuilder({.samples = kSamples, .length = kLength}, Dtype::f32),
                .dropout = 0};
  GraphBuilder& out = text.out;
  out.unit("embedding");
  const TensorId table = out.parameter({.name = "table", .shape = {64, kWidth}});
  const TensorId places = out.parameter({.name = "places", .shape = {kLength, kWidth}});
  text.counts = out.input({.name = "counts", .sample = {1}});
  const TensorId bias = text.bias("encoder", true);
  const auto ids = [&](const std::string& name) {
    return out.input({.name = name, .sample = {kLength}, .ids = 61});
  };
  TensorId x = embedding(out, ids("tokens"), table, places);
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = "h." + std::to_string(layer);
    out.block(name);
    x = text.self(x, name, {.heads = 0, .causal = false, .bias = bias, .key_counts = text.counts});
  }
  out.unit("embedding");
  classifier(out, x, table, ids("targets"), 61, 8);
  return out.finish();
}

TEST(AttentionOperation, AddsTheBiasGradientsOf24LayersOneByOneFromTheLastOn) {
  const Graph graph = differentiate(layers_of_one_bias(24));
  CountedTexts step(graph);
  step.run();
  const size_t numel = size_t(kHeads * (2 * kLength - 1));
  std::vector<float> one_by_one;
  std::vector<double> exact(numel, 0), sizes(numel, 0);
  for (const Op& op : graph.ops) {
    if (op.kind != &kAttentionGrad) continue;
    const std::span<float> one = step.naive.values<float>(op.outputs[1]);
    ASSERT_EQ(one.size(), numel);
    const bool is_last_layer = one_by_one.empty();
    if (is_last_layer) one_by_one.assign(numel, 0);
    for (size_t i = 0; i < numel; ++i) {
      one_by_one[i] = is_last_layer ? one[i] : one_by_one[i] + one[i];
      exact[i] += double(one[i]);
      sizes[i] += std::abs(double(one[i]));
    }
  }
  EXPECT_EQ(std::ranges::count(graph.ops, &kAttentionGrad, &Op::kind), 24);
  const std::span<float> sum = step.naive.values<float>(first(graph, &kRelativeBiasGrad).inputs[0]);
  ASSERT_EQ(sum.size(), numel);
  EXPECT_TRUE(std::ranges::equal(sum, one_by_one));
  EXPECT_GT(std::ranges::count_if(sizes, [](double size) { return size > 0; }), 10);
  for (size_t i = 0; i < numel; ++i) {
    EXPECT_NEAR(double(sum[i]), exact[i], 23 * 0x1p-24 * sizes[i]) << i;
  }
}

TEST(AttentionOperation, CountsAllPairsUnlessItIsCausal) {
  const Graph graph = differentiate(two_texts(Dtype::f32, 0, true));
  const double causal = 2.0 * kSamples * kInner * kLength * kLength;
  for (const Op& op : graph.ops) {
    const bool is_self = op.kind == &kAttention, is_cross = op.kind == &kCrossAttention;
    if (!is_self && !is_cross) continue;
    const bool all = is_cross || op.attributes.as<AttentionAttributes>().both_ways != 0;
    EXPECT_EQ(op.kind->flops(graph, op), (all ? 2 : 1) * causal);
  }
  EXPECT_EQ(
      first(graph, &kCrossAttentionGrad).kind->flops(graph, first(graph, &kCrossAttentionGrad)),
      5 * causal);
}

/// The states after two steps of four micro-batches.
std::vector<std::byte> trained(plan::Request request, Recompute policy) {
  request.micro_batches = 4 / request.ranks;
  const Graph graph =
      recompute(differentiate(two_texts(request.compute, 0.1f, false)), std::vector(4, policy));
  const plan::Plan plan = plan::compile(request, graph, {});
  testing::ThreadRanks machine(plan, testing::tiny_rules(request.compute));
  return testing::train(machine, plan, 2).state;
}

TEST(AttentionOperation, TrainsTwoTextsToTheSameBytesAtEveryStage) {
  testing::expect_same_at_every_stage(trained);
}

/// q, kv, a bias and counts that fit each other.
struct Operands {
  GraphBuilder out{{.samples = 2, .length = 4}, Dtype::f32};
  TensorId q = out.activation("q", Dtype::f32, {8, 6});
  TensorId kv = out.activation("kv", Dtype::f32, {10, 12});
  TensorId bias = out.activation("bias", Dtype::f32, {3, 8});
  TensorId counts = out.activation("counts", Dtype::i32, {2});

  Operands() { out.unit("only"); }
};

TEST(AttentionOperationRefusal, NamesOperandsThatDoNotFit) {
  Operands given;
  const AttentionOptions options{
      .heads = 3, .causal = false, .bias = given.bias, .key_counts = given.counts};
  const TensorId y = cross_attention(given.out, given.q, given.kv, options);
  EXPECT_EQ(given.out[y].shape, Shape({8, 6}));
  const auto refused = [&](AttentionOptions other) {
    EXPECT_THROW(cross_attention(given.out, given.q, given.kv, other), Error);
  };
  AttentionOptions other = options;
  other.causal = true;
  refused(other);
  other = options;
  other.heads = 4;
  refused(other);
  other = options;
  other.bias = given.counts;
  refused(other);
  other = options;
  other.key_counts = given.bias;
  refused(other);
  EXPECT_THROW(cross_attention(given.out, given.kv, given.q, options), Error);
  EXPECT_THROW(relative_bias(given.out, given.bias, {.queries = 0, .keys = 4}), Error);
}

}  // namespace
}  // namespace zero::graph
