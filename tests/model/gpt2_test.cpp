// Ranks: 1

#include "src/model/gpt2.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/forward_of.hpp"
#include "tests/support/parameter_numel.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/graph/operation.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

using graph::Graph;
using graph::OpKind;

const Gpt2 kSmall{.layers = 12, .width = 768, .heads = 12, .vocabulary = 50257, .positions = 1024};
const Gpt2 kXl{.layers = 48, .width = 1600, .heads = 25, .vocabulary = 50257, .positions = 1024};
const Gpt2 k10B{.layers = 50, .width = 4096, .heads = 32, .vocabulary = 50304, .positions = 1024};
/// Width 4 in 2 heads, 5 classes, 6 positions.
const Gpt2 kTiny{
    .layers = 2, .width = 4, .heads = 2, .vocabulary = 5, .positions = 6, .dropout = 0.1f};

Graph tiny(bool training) {
  return forward_of(
      kTiny, {.micro = {.samples = 2, .length = 3}, .compute = Dtype::f32, .training = training});
}

/// The probability that an op drops an element.
double probability(const graph::Op& op) {
  if (op.kind == &graph::kDropoutAdd) {
    return op.attributes.as<graph::DropoutAttributes>().probability;
  }
  if (op.kind != &graph::kAttention) return 0;
  return op.attributes.as<graph::AttentionAttributes>().dropout.probability;
}

int count(const Graph& graph, OpKind kind) {
  int ops = 0;
  for (const graph::Op& op : graph.ops) ops += op.kind == kind;
  return ops;
}

const graph::Parameter& parameter(const Graph& graph, const std::string& name) {
  for (const graph::Parameter& candidate : graph.parameters) {
    if (graph[candidate.tensor].name == name) return candidate;
  }
  ZERO_REQUIRE(false, "no parameter ", name);
  return graph.parameters[0];
}

TEST(Gpt2, HasThePublishedNumbersOfParameters) {
  EXPECT_EQ(parameter_count(kSmall), 124'439'808);
  EXPECT_EQ(parameter_count(kXl), 1'557'611'200);
  EXPECT_EQ(parameter_count(k10B), 10'279'239'680);
}

TEST(Gpt2, HasAGraphWithAsManyRealElements) {
  const Graph graph = forward_of(
      kSmall, {.micro = {.samples = 1, .length = 8}, .compute = Dtype::bf16, .training = true});
  int64_t real = 0;
  for (const graph::Parameter& each : graph.parameters) real += each.real_numel;
  EXPECT_EQ(real, parameter_count(kSmall));
  EXPECT_EQ(graph::parameter_numel(graph), real + (50304 - 50257) * 768);
}

TEST(Gpt2, PadsTheVocabularyToAMultipleOf64) {
  EXPECT_EQ(padded_vocabulary(kSmall), 50304);
  EXPECT_EQ(padded_vocabulary(k10B), 50304);
  EXPECT_EQ(padded_vocabulary(kTiny), 64);
}

const Gpt2 kOdd{.layers = 2, .width = 200, .heads = 2, .vocabulary = 5, .positions = 6};

Graph with_heads_of(int64_t head_unit) {
  return graph::pad_heads(
      forward_of(kOdd,
                 {.micro = {.samples = 2, .length = 3}, .compute = Dtype::bf16, .training = true}),
      head_unit);
}

TEST(Gpt2, WidensHeadsInCopiesOfWeightsAlone) {
  const Graph plain = with_heads_of(1), wide = with_heads_of(8);
  EXPECT_EQ(count(plain, &graph::kResizeHeads), 0);
  EXPECT_EQ(count(wide, &graph::kResizeHeads), 3 * 2);
  EXPECT_EQ(count(with_heads_of(50), &graph::kResizeHeads), 0) << "heads of 100 are twice 50";
  ASSERT_EQ(plain.parameters.size(), wide.parameters.size());
  for (size_t i = 0; i < plain.parameters.size(); ++i) {
    const graph::Parameter &a = plain.parameters[i], &b = wide.parameters[i];
    EXPECT_EQ(plain[a.tensor].name, wide[b.tensor].name);
    EXPECT_EQ(plain[a.tensor].shape, wide[b.tensor].shape);
    EXPECT_EQ(a.real_numel, b.real_numel);
    EXPECT_EQ(a.unit, b.unit);
  }
  for (const graph::Op& op : wide.ops) {
    if (op.kind != &graph::kAttention) continue;
    EXPECT_EQ(wide[op.inputs[0]].shape, (Shape{6, 3 * 2 * 104}));
    EXPECT_EQ(wide[op.outputs[0]].shape, (Shape{6, 2 * 104}));
    EXPECT_EQ(op.attributes.as<graph::AttentionAttributes>().head_width, 100);
  }
}

TEST(Gpt2, NamesParametersLikeHuggingFaceInTheOrderOfUse) {
  const Graph graph = tiny(true);
  EXPECT_THAT(graph.unit_names, ::testing::ElementsAre("embedding", "h.0", "h.1"));
  std::vector<std::string> names;
  for (const graph::Parameter& each : graph.parameters) {
    if (each.unit < 2) names.push_back(graph[each.tensor].name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre(
                         "wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias",  //
                         "h.0.ln_1.weight", "h.0.ln_1.bias", "h.0.attn.c_attn.weight",
                         "h.0.attn.c_attn.bias", "h.0.attn.c_proj.weight", "h.0.attn.c_proj.bias",
                         "h.0.ln_2.weight", "h.0.ln_2.bias", "h.0.mlp.c_fc.weight",
                         "h.0.mlp.c_fc.bias", "h.0.mlp.c_proj.weight", "h.0.mlp.c_proj.bias"));
}

TEST(Gpt2, StoresWeightsAsInputTimesOutput) {
  const Graph graph = tiny(true);
  const auto shape = [&](const char* name) { return graph[parameter(graph, name).tensor].shape; };
  EXPECT_EQ(shape("wte.weight"), Shape({64, 4}));
  EXPECT_EQ(shape("wpe.weight"), Shape({6, 4}));
  EXPECT_EQ(shape("h.1.attn.c_attn.weight"), Shape({4, 12}));
  EXPECT_EQ(shape("h.1.attn.c_proj.weight"), Shape({4, 4}));
  EXPECT_EQ(shape("h.1.mlp.c_fc.weight"), Shape({4, 16}));
  EXPECT_EQ(shape("h.1.mlp.c_proj.weight"), Shape({16, 4}));
}

TEST(Gpt2, DecaysMatricesOnly) {
  for (const graph::Parameter& each : tiny(true).parameters) {
    const Graph graph = tiny(true);
    EXPECT_EQ(each.decays, graph[each.tensor].shape.rank() == 2) << graph[each.tensor].name;
  }
}

TEST(Gpt2, StartsTheProjectionsIntoTheResidualStreamSmaller) {
  const Graph graph = tiny(true);
  EXPECT_FLOAT_EQ(parameter(graph, "wpe.weight").deviation, 0.02f);
  EXPECT_FLOAT_EQ(parameter(graph, "h.0.mlp.c_fc.weight").deviation, 0.02f);
  EXPECT_FLOAT_EQ(parameter(graph, "h.0.mlp.c_proj.weight").deviation, 0.01f);  // 0.02 / sqrt(4)
  EXPECT_FLOAT_EQ(parameter(graph, "h.1.attn.c_proj.weight").deviation, 0.01f);
  EXPECT_EQ(parameter(graph, "ln_f.weight").init, graph::Init::ones);
  EXPECT_EQ(parameter(graph, "h.0.attn.c_attn.bias").init, graph::Init::zeros);
}

TEST(Gpt2, DropsAtEmbeddingAttentionAndBothBranchesInTrainingOnly) {
  const Graph training = tiny(true);
  EXPECT_EQ(count(training, &graph::kDropoutAdd), 1 + 2 * 2);
  for (const graph::Op& op : training.ops) {
    EXPECT_EQ(probability(op), op.kind->draws(training, op) == 0 ? 0.0 : double(0.1f));
  }
  const Graph evaluation = tiny(false);
  EXPECT_EQ(count(evaluation, &graph::kDropoutAdd), 2 * 2);
  for (const graph::Op& op : evaluation.ops) EXPECT_EQ(probability(op), 0.0);
}

TEST(Gpt2, CutsTheClassifierIntoChunksByTheShapeAlone) {
  const auto chunk = [](int64_t samples, int64_t chunk_rows) {
    return forward_of(kTiny, {.micro = {.samples = samples, .length = 4},
                              .compute = Dtype::f32,
                              .training = true,
                              .chunk_rows = chunk_rows})
        .ops.back()
        .attributes.as<graph::ClassifierAttributes>()
        .chunk_rows;
  };
  EXPECT_EQ(chunk(2, 0), 8);
  EXPECT_EQ(chunk(512, 0), 1024);
  EXPECT_EQ(chunk(512, 100), 100);
}

TEST(Gpt2, CanBeDifferentiated) {
  const Graph graph = differentiate(tiny(true));
  EXPECT_EQ(count(graph, &graph::kLinearWeightGrad), 2 * 4);
  EXPECT_EQ(count(graph, &graph::kAdd), 0) << "norms add the residual gradients";
}

TEST(Gpt2, RefusesHeadsThatDoNotDivideTheWidthAndSamplesThatAreTooLong) {
  const ForwardOptions fits{
      .micro = {.samples = 1, .length = 6}, .compute = Dtype::f32, .training = true};
  EXPECT_NO_THROW(forward_of(kTiny, fits));
  ForwardOptions longer = fits;
  longer.micro.length = 7;
  EXPECT_THROW(forward_of(kTiny, longer), Error);
  Gpt2 uneven = kTiny;
  uneven.heads = 3;
  try {
    forward_of(uneven, fits);
    FAIL() << "3 heads cannot share a width of 4";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("width of 4 does not split into 3 heads"));
  }
}

TEST(Gpt2, ContinuesATextWithTheSameParametersAndACacheABlock) {
  const Graph decode = gpt2_decode(kTiny, {.length = 1, .context = 6}, Dtype::f32);
  const Graph training = tiny(true);
  ASSERT_EQ(decode.parameters.size(), training.parameters.size());
  for (size_t p = 0; p < training.parameters.size(); ++p) {
    const graph::Tensor& tensor = decode[decode.parameters[p].tensor];
    EXPECT_EQ(tensor.name, training[training.parameters[p].tensor].name);
    EXPECT_EQ(tensor.shape, training[training.parameters[p].tensor].shape);
  }
  EXPECT_EQ(count(decode, &graph::kCachedAttention), 2);
  EXPECT_EQ(count(decode, &graph::kRowLinear), 2 * 4);
  EXPECT_EQ(decode.ops.back().kind, &graph::kLogits);
}

TEST(Gpt2, RefusesAContextBeyondThePositions) {
  try {
    gpt2_decode(kTiny, {.length = 1, .context = 7}, Dtype::f32);
    FAIL() << "the position table has 6 rows";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("context of 7 tokens"));
  }
}

TEST(Gpt2, CostsSixOperationsAParameterAndTokenAndCausalAttention) {
  EXPECT_EQ(flops_per_token(kSmall, 1024), 6.0 * 124'439'808 + 6.0 * 12 * 768 * 1024);
}

}  // namespace
}  // namespace zero::model
