// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/support/golden.hpp"
#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/base/error.hpp"
#include "zero/compile/compile.hpp"

namespace zero::graph {
namespace {

constexpr int64_t kSamples = 2, kLength = 8, kWidth = 16;
constexpr DistanceRange kRange{.buckets = 4, .most_distance = 6};

/// Layers of DeBERTa without norms: attention whose projections are used for tokens and positions,
/// with dropout of its own for the rows of the table, and after the first layer a convolution over
/// three places. The first token of a text decides its class.
struct Encoder {
  GraphBuilder out;
  float dropout;
  TensorId table = kNone, counts = kNone;

  Encoder(Dtype compute, float probability)
      : out({.samples = kSamples, .length = kLength}, compute), dropout(probability) {}

  TensorId parameter(const std::string& name, const Shape& shape) {
    return out.parameter({.name = name, .shape = shape, .deviation = 0.2f});
  }
  TensorId attend(TensorId x, const std::string& name) {
    const RowRange rows = rows_by_distance(kRange, kLength);
    const TensorId positions = drop_rows(out, take_rows(out, table, rows), rows, dropout);
    const auto weight = [&](const char* part) {
      return std::pair{parameter(name + part + ".weight", {kWidth, kWidth}),
                       parameter(name + part + ".bias", {kWidth})};
    };
    const auto [q, q_bias] = weight(".q");
    const auto [k, k_bias] = weight(".k");
    const auto [v, v_bias] = weight(".v");
    return disentangled_attention(
        out,
        {.q = linear(out, x, q, q_bias),
         .k = linear(out, x, k, k_bias),
         .v = linear(out, x, v, v_bias),
         .position_keys = linear(out, positions, k, k_bias),
         .position_queries = linear(out, positions, q, q_bias)},
        {.heads = 2, .range = kRange, .dropout = dropout, .key_counts = counts});
  }
  TensorId convolve(TensorId x) {
    const TensorId weight = parameter("conv.weight", {3 * kWidth, kWidth});
    return clear_padding(
        out, linear(out, neighbour_rows(out, x), weight, parameter("conv.bias", {kWidth})), counts);
  }

  Graph finish() {
    out.unit("embedding");
    const TensorId words = parameter("words", {61, kWidth});
    table = parameter("distances", {2 * kRange.buckets, kWidth});
    counts = out.input({.name = "source_count", .sample = {1}, .ids = kLength + 1});
    const TensorId tokens = out.input({.name = "tokens", .sample = {kLength}, .ids = 61});
    const TensorId first = clear_padding(out, embedding(out, tokens, words), counts);
    TensorId x = first;
    for (const std::string name : {"a", "b"}) {
      out.block(name);
      x = dropout_add(out, attend(x, name), x, dropout, name + ".sum");
      if (name == "a") x = add(out, x, convolve(first), "conv.sum");
    }
    out.unit("head");
    const TensorId pooled = gelu_erf(
        out, linear(out, first_rows(out, x), parameter("pool.weight", {kWidth, kWidth}), kNone));
    class_loss(out, {.logits = linear(out, pooled, parameter("head.weight", {kWidth, 61}), kNone),
                     .labels = out.input({.name = "targets", .sample = {1}, .ids = 61})});
    return out.finish();
  }
};

TEST(DisentangledOperation, HasTheSlopesOfTheLoss) {
  for (float dropout : {0.0f, 0.25f}) {
    testing::TriedGraph tried(Encoder(Dtype::f32, dropout).finish());
    std::ranges::copy(std::array{8, 5}, tried.ids("source_count").begin());
    tried.expect_slopes();
  }
}

TEST(DisentangledOperation, DropsTheRowsOfTheTableAnewInEachLayer) {
  const Graph graph = differentiate(Encoder(Dtype::f32, 0.25f).finish());
  EXPECT_EQ(std::ranges::count(graph.ops, &kDropRows, &Op::kind), 2 * 2) << "with their gradients";
  EXPECT_EQ(std::ranges::count(Encoder(Dtype::f32, 0).finish().ops, &kDropRows, &Op::kind), 0);
  EXPECT_GT(kDropRows.draws(graph, first(graph, &kDropRows)), 0);
}

TEST(DisentangledOperation, AddsTheGradientsOfAProjectionThatIsUsedTwice) {
  const Graph graph = differentiate(Encoder(Dtype::f32, 0).finish());
  EXPECT_EQ(std::ranges::count(graph.ops, &kDisentangledAttentionGrad, &Op::kind), 2);
  const auto uses = [&](const std::string& name) {
    return std::ranges::count_if(graph.ops, [&](const Op& op) {
      return op.kind == &kLinear && graph[op.inputs[1]].name == name;
    });
  };
  EXPECT_EQ(uses("a.q.weight"), 2);
  EXPECT_EQ(uses("a.v.weight"), 1);
  EXPECT_EQ(std::ranges::count(graph.ops, &kTakeRowsGrad, &Op::kind), 2 + 1);
}

/// The loss without dropout, where texts have `counts` tokens and other tokens behind them.
double loss_of(const std::array<int32_t, 2>& counts, int32_t padding) {
  testing::TriedGraph tried(Encoder(Dtype::f32, 0).finish());
  std::ranges::copy(counts, tried.ids("source_count").begin());
  const std::span<int32_t> tokens = tried.ids("tokens");
  for (int64_t i = 0; i < kSamples * kLength; ++i)
    if (i % kLength >= counts[size_t(i / kLength)]) tokens[size_t(i)] = padding;
  return tried.loss();
}

TEST(DisentangledOperation, DoesNotSeePadding) {
  EXPECT_EQ(loss_of({8, 5}, 1), loss_of({8, 5}, 60));
  EXPECT_NE(loss_of({8, 8}, 1), loss_of({8, 5}, 1));
  EXPECT_EQ(loss_of({1, 1}, 1), loss_of({1, 1}, 60));
}

/// The states after some steps of four micro-batches.
std::vector<std::byte> trained(plan::Request request, Recompute policy, int steps = 2) {
  request.micro_batches = 4 / request.ranks;
  const Graph graph =
      recompute(differentiate(Encoder(request.compute, 0.1f).finish()), std::vector(2, policy));
  const plan::Plan plan = plan::compile(request, graph, {});
  zero::testing::ThreadRanks machine(plan, zero::testing::tiny_rules(request.compute));
  return zero::testing::train(machine, plan, steps).state;
}

TEST(DisentangledOperation, TrainsToTheSameBytesAtEveryStage) {
  plan::Request request;
  request.reproducible = true;
  for (Dtype compute : {Dtype::f32, Dtype::bf16}) {
    request.compute = compute;
    request.stage = 0, request.ranks = 1;
    const std::vector<std::byte> expected = trained(request, Recompute::none);
    EXPECT_NE(trained(request, Recompute::none, 1), expected) << "nothing was learnt";
    for (int stage : {0, 1, 2, 3}) {
      for (int ranks : {1, 2, 4}) {
        request.stage = stage, request.ranks = ranks;
        const Recompute policy = ranks == 1   ? Recompute::none
                                 : ranks == 2 ? Recompute::full
                                              : Recompute::selective;
        EXPECT_EQ(trained(request, policy), expected)
            << "stage " << stage << " on " << ranks << " ranks in " << name_of(compute);
      }
    }
  }
}

/// One layer between its input and a head of classes, as golden values have it.
Graph layer_of(const testing::GoldenLayer& golden) {
  const int64_t samples = int64_t(golden.counts.size()), width = golden.width;
  const DistanceRange range{golden.buckets, golden.most_distance};
  GraphBuilder out({.samples = samples, .length = golden.length}, Dtype::f32);
  out.unit("only");
  const auto parameter = [&](const std::string& name, const Shape& shape) {
    return out.parameter({.name = name, .shape = shape});
  };
  const int64_t side = golden.buckets > 0 ? golden.buckets : golden.most_distance;
  const TensorId x = parameter("hidden", {samples * golden.length, width});
  const TensorId hidden = take_rows(out, x, {.first = 0, .count = samples * golden.length});
  const TensorId positions = take_rows(out, parameter("rel_embeddings", {2 * side, width}),
                                       rows_by_distance(range, golden.length));
  TensorId weight[3], bias[3];
  for (const auto& [i, name] : {std::pair{0, "query"}, {1, "key"}, {2, "value"}}) {
    weight[i] = parameter(name + std::string(".weight"), {width, width});
    bias[i] = parameter(name + std::string(".bias"), {width});
  }
  const TensorId y =
      disentangled_attention(out,
                             {.q = linear(out, hidden, weight[0], bias[0]),
                              .k = linear(out, hidden, weight[1], bias[1]),
                              .v = linear(out, hidden, weight[2], bias[2]),
                              .position_keys = linear(out, positions, weight[1], bias[1]),
                              .position_queries = linear(out, positions, weight[0], bias[0])},
                             {.heads = golden.heads,
                              .range = range,
                              .key_counts = out.input({.name = "counts", .sample = {1}})});
  classifier(out, y, parameter("head", {golden.classes, width}),
             out.input({.name = "labels", .sample = {golden.length}, .ids = golden.classes}),
             golden.classes, 16);
  return out.finish();
}

TEST(DisentangledOperation, HasTheLossAndGradientsOfHuggingFace) {
  for (const char* name : {"deberta_attention_a", "deberta_attention_b"}) {
    const testing::GoldenLayer golden = testing::load_golden_layer(name);
    testing::TriedGraph tried(layer_of(golden));
    ASSERT_EQ(tried.graph().parameters.size(), golden.tensors.size());
    for (size_t i = 0; i < golden.tensors.size(); ++i)
      std::ranges::copy(testing::golden_weights(golden.tensors[i], int64_t(i)),
                        tried.values(tried.graph().parameters[i].tensor).begin());
    std::ranges::copy(golden.counts, tried.ids("counts").begin());
    std::ranges::copy(golden.labels, tried.ids("labels").begin());
    const double counted = double(golden.counted);
    EXPECT_NEAR(tried.loss() / counted, golden.loss, 1e-6 * golden.loss);
    for (size_t i = 0; i < golden.tensors.size(); ++i) {
      const Parameter& parameter = tried.graph().parameters[i];
      ASSERT_EQ(tried.graph()[parameter.tensor].name, golden.tensors[i].name);
      std::vector<double> got;
      for (float value : tried.values(parameter.gradient)) got.push_back(double(value) / counted);
      EXPECT_LT(testing::relative_l2(got, golden.tensors[i].gradient, 1e-12), 1e-5)
          << name << " " << golden.tensors[i].name;
    }
  }
}

TEST(DisentangledOperation, CountsItsProductsAndItsExponentials) {
  const Graph graph = differentiate(Encoder(Dtype::f32, 0).finish());
  const double rows = 8;  // the whole table: distances of 6 and 7 would be in row 8, behind its end
  const double token = 2.0 * kSamples * kLength * kWidth;
  EXPECT_EQ(double(rows_by_distance(kRange, kLength).count), rows);
  const Op& forward = first(graph, &kDisentangledAttention);
  const Op& backward = first(graph, &kDisentangledAttentionGrad);
  EXPECT_EQ(forward.kind->flops(graph, forward), token * (2 * kLength + 2 * rows));
  EXPECT_EQ(backward.kind->flops(graph, backward), token * (5 * kLength + 6 * rows));
  EXPECT_EQ(forward.kind->exponentials(graph, forward), kSamples * 2 * kLength * kLength);
  EXPECT_EQ(forward.kind->draws(graph, forward), 0);
}

TEST(DisentangledRefusal, NamesRowsThatAreNotThere) {
  GraphBuilder out({.samples = 1, .length = 4}, Dtype::f32);
  out.unit("only");
  const TensorId x = out.activation("x", Dtype::f32, {4, 6});
  EXPECT_NO_THROW(drop_rows(out, x, {.first = 3, .count = 4}, 0.1f));
  EXPECT_THROW(drop_rows(out, x, {.first = 3, .count = 5}, 0.1f), Error);
  EXPECT_THROW(drop_rows(out, x, {.first = -1, .count = 4}, 0.1f), Error);
}

TEST(DisentangledRefusal, NamesOperandsThatDoNotFit) {
  GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
  out.unit("only");
  const auto made = [&](const Shape& shape) { return out.activation("x", Dtype::f32, shape); };
  const DisentangledOperands fitting{made({8, 6}), made({8, 6}), made({8, 6}), made({7, 6}),
                                     made({7, 6})};
  const DisentangledOptions options{.heads = 3, .range = {.buckets = 0, .most_distance = 9}};
  EXPECT_EQ(out[disentangled_attention(out, fitting, options)].shape, Shape({8, 6}));
  const auto refused = [&](const DisentangledOperands& of, const DisentangledOptions& with) {
    EXPECT_THROW(disentangled_attention(out, of, with), Error);
  };
  DisentangledOptions other = options;
  other.heads = 4;
  refused(fitting, other);
  other = options;
  other.key_counts = fitting.q;
  refused(fitting, other);
  DisentangledOperands wrong = fitting;
  wrong.position_keys = fitting.q;
  refused(wrong, options);
  wrong = fitting;
  wrong.k = made({8, 9});
  refused(wrong, options);
}

}  // namespace
}  // namespace zero::graph
