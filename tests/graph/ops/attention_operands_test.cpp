// Ranks: 1
// Attention of decoders of today: fewer heads of keys, a window, a cap and first keys.

#include "src/graph/ops/attention_operands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/every_stage.hpp"
#include "tests/support/naive_step.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tiny_graph.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/compile/compile.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/graph/operations.hpp"
#include "zero/plan/plan.hpp"

namespace zero::graph {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSamples = 2, kLength = 8, kWidth = 16, kHeads = 4, kKeyHeads = 2, kHead = 6;
constexpr int64_t kInner = kHeads * kHead, kPacked = (kHeads + 2 * kKeyHeads) * kHead;

/// A text through two layers, with documents if `packed`.
Graph decoder(Dtype compute, float dropout, bool packed) {
  GraphBuilder out({.samples = kSamples, .length = kLength}, compute);
  const auto ids = [&](const std::string& name) {
    return out.input({.name = name, .sample = {kLength}, .ids = 61});
  };
  const auto weight = [&](const std::string& name, const Shape& shape) {
    return out.parameter({.name = name + ".weight", .shape = shape, .deviation = 0.2f});
  };
  out.unit("embedding");
  const TensorId table = out.parameter({.name = "table", .shape = {64, kWidth}});
  const TensorId places = out.parameter({.name = "places", .shape = {kLength, kWidth}});
  const TensorId first = packed ? out.input({.name = "first", .sample = {kLength}}) : kNone;
  TensorId x = embedding(out, ids("tokens"), table, places);
  for (const std::string name : {"a", "b"}) {
    out.block(name);
    const TensorId qkv = linear(out, x, weight(name + ".qkv", {kWidth, kPacked}), kNone);
    const TensorId y = attention(out, qkv,
                                 {.heads = kHeads,
                                  .dropout = dropout,
                                  .key_heads = kKeyHeads,
                                  .window = 5,
                                  .cap = 2,
                                  .first = first});
    x = add(out, linear(out, y, weight(name + ".o", {kInner, kWidth}), kNone), x, name + ".sum");
  }
  out.unit("embedding");
  classifier(out, x, table, ids("targets"), 61, 8);
  return out.finish();
}

/// A step of documents of 3, 1 and 4 tokens, and one that is the whole text.
struct Documents : testing::NaiveStep {
  explicit Documents(const Graph& of) : NaiveStep(of, 0.3f) {
    const std::span<int32_t> first = naive.values<int32_t>(graph.input("first"));
    std::ranges::fill(first, 0);
    for (size_t row = 3; row < size_t(kLength); ++row) first[row] = row < 4 ? 3 : 4;
  }
};

TEST(DecoderAttentionOperation, GradientIsTheDifferenceQuotientOfTheLoss) {
  for (const Recompute policy : {Recompute::none, Recompute::full}) {
    const Graph graph =
        recompute(differentiate(decoder(Dtype::f32, 0.25f, true)), std::vector(2, policy));
    Documents(graph).expect_gradients(0x1p-9);
  }
}

TEST(DecoderAttentionOperation, DocumentsDoNotSeeEachOther) {
  const Graph graph = decoder(Dtype::f32, 0, true);
  Documents step(graph);
  step.run();
  const std::span<float> y = step.naive.values<float>(main_output(first(graph, &kAttention)));
  const std::vector<float> before(y.begin(), y.end());
  auto tokens = step.naive.values<int32_t>(graph.input("tokens"));
  tokens[1] = (tokens[1] + 1) % 61;
  step.run();
  for (size_t row = 0; row < size_t(kSamples * kLength); ++row) {
    const bool same =
        std::equal(y.begin() + int64_t(row) * kInner, y.begin() + int64_t(row + 1) * kInner,
                   before.begin() + int64_t(row) * kInner);
    EXPECT_EQ(same, row != 1 && row != 2) << row;
  }
}

/// The states after two steps of four micro-batches.
std::vector<std::byte> trained(plan::Request request, Recompute policy) {
  request.micro_batches = 4 / request.ranks;
  const Graph graph =
      recompute(differentiate(decoder(request.compute, 0.1f, false)), std::vector(2, policy));
  const plan::Plan plan = plan::compile(request, graph, {});
  testing::ThreadRanks machine(plan, testing::tiny_rules(request.compute));
  return testing::train(machine, plan, 2).state;
}

TEST(DecoderAttentionOperation, TrainsToTheSameBytesAtEveryStage) {
  testing::expect_same_at_every_stage(trained);
}

TEST(DecoderAttentionOperation, CountsThePairsOfItsWindow) {
  const Graph graph = differentiate(decoder(Dtype::f32, 0, true));
  const Op &forward = first(graph, &kAttention), &backward = first(graph, &kAttentionGrad);
  // All pairs, without the triangle of those that are five places or more apart.
  const double twice_pairs = kLength * kLength - 3 * 3;
  EXPECT_EQ(forward.kind->flops(graph, forward), 2 * kSamples * kInner * twice_pairs);
  EXPECT_EQ(backward.kind->flops(graph, backward), 5 * kSamples * kInner * twice_pairs);
  EXPECT_EQ(forward.kind->exponentials(graph, forward),
            int64_t(kSamples * kHeads * twice_pairs) / 2);
}

TEST(DecoderAttentionOperation, HasNarrowerRowsAndHeadsThatAreWidenedTogether) {
  const Graph graph = decoder(Dtype::f32, 0, true);
  const Op& op = first(graph, &kAttention);
  EXPECT_EQ(graph[op.inputs[0]].shape, Shape({kSamples * kLength, kPacked}));
  EXPECT_EQ(graph[main_output(op)].shape, Shape({kSamples * kLength, kInner}));
  const AttentionHeads heads = kAttention.heads(graph, op);
  ASSERT_EQ(heads.read.size(), 1u);
  EXPECT_EQ(heads.read[0].heads, kHeads + 2 * kKeyHeads);
  EXPECT_EQ(heads.written.heads, kHeads);
  EXPECT_EQ(heads.width, kHead);
  const Graph wide = pad_heads(graph, 8);
  const Op& widened = first(wide, &kAttention);
  EXPECT_EQ(wide[widened.inputs[0]].shape,
            Shape({kSamples * kLength, (kHeads + 2 * kKeyHeads) * 8}));
  EXPECT_EQ(wide[main_output(widened)].shape, Shape({kSamples * kLength, kHeads * 8}));
  EXPECT_EQ(widened.attributes.as<AttentionAttributes>().head_width, kHead);
  EXPECT_EQ(widened.inputs.size(), op.inputs.size()) << "with its first keys";
}

/// q, kv and first keys that fit each other.
struct Operands {
  GraphBuilder out{{.samples = 2, .length = 4}, Dtype::f32};
  TensorId qkv = out.activation("qkv", Dtype::f32, {8, 20});
  TensorId q = out.activation("q", Dtype::f32, {8, 16});
  TensorId kv = out.activation("kv", Dtype::f32, {10, 8});
  TensorId keys = out.activation("first", Dtype::i32, {8});
  AttentionOptions options{.heads = 8, .key_heads = 1, .window = 3, .cap = 5, .first = keys};

  Operands() { out.unit("only"); }
};

TEST(DecoderAttentionOperationRefusal, NamesOperandsThatDoNotFit) {
  Operands given;
  EXPECT_EQ(given.out[attention(given.out, given.qkv, given.options)].shape, Shape({8, 16}));
  const auto refused = [&](const auto& change, const char* error) {
    AttentionOptions other = given.options;
    change(other);
    EXPECT_THAT(testing_support::refusal_of(Exit::kInternal,
                                            [&] { attention(given.out, given.qkv, other); }),
                HasSubstr(error));
  };
  refused([](auto& other) { other.key_heads = 3; }, "8 heads to 3 of keys");
  refused([](auto& other) { other.key_heads = 8; }, "does not split into 24 heads");
  refused([](auto& other) { other.window = -1; }, "a window of -1 keys");
  refused([](auto& other) { other.cap = -1; }, "a cap of -1");
  refused([](auto& other) { other.causal = false, other.first = kNone; }, "only causal attention");
  refused([&](auto& other) { other.first = given.q; }, "no first key for each of 8 rows");
}

TEST(DecoderAttentionOperationRefusal, IsForFirstKeysInAnotherText) {
  Operands given;
  AttentionOptions options{.heads = 8, .causal = false, .key_heads = 2};
  EXPECT_EQ(given.out[cross_attention(given.out, given.q, given.kv, options)].shape,
            Shape({8, 16}));
  options.first = given.keys;
  EXPECT_THROW(cross_attention(given.out, given.q, given.kv, options), Error);
}

}  // namespace
}  // namespace zero::graph
