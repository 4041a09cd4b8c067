// Ranks: 1

#include "zero/graph/graph_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/tiny_graph.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::graph {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& statement) {
  try {
    statement();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInternal);
    return error.what();
  }
  return "no error";
}

/// A builder with an activation x [6, 4] and parameters of several shapes.
struct Scene {
  GraphBuilder out{{.samples = 2, .length = 3}, Dtype::bf16};
  int32_t unit = out.unit("only");
  TensorId table = out.parameter({.name = "table", .shape = {8, 4}});
  TensorId positions = out.parameter({.name = "positions", .shape = {3, 4}});
  TensorId tokens = tiny_ids(out, "tokens");
  TensorId x = embedding(out, tokens, table, positions);
  TensorId wide = out.parameter({.name = "wide", .shape = {5, 12}});
  TensorId bias = out.parameter({.name = "bias", .shape = {4}});
};

std::vector<FilledBy> fillers(const Graph& graph) {
  std::vector<FilledBy> all;
  for (const Input& input : graph.inputs) all.push_back(input.filled_by);
  return all;
}

TEST(GraphBuilder, GivesActivationsTheirShapesAndDtypes) {
  const Graph graph = tiny_forward(1, 0.5f, Dtype::bf16);
  const Tensor& y = graph[first(graph, &kLayernorm).outputs[0]];
  EXPECT_EQ(y.shape, Shape({6, 4}));
  EXPECT_EQ(y.dtype, Dtype::bf16);
  const Tensor& mean = graph[first(graph, &kLayernorm).outputs[1]];
  EXPECT_EQ(mean.shape, Shape({6}));
  EXPECT_EQ(mean.dtype, Dtype::f32);
  EXPECT_EQ(graph[first(graph, &kLinear).outputs[0]].shape, Shape({6, 12}));
  EXPECT_EQ(graph[first(graph, &kAttention).outputs[0]].shape, Shape({6, 4}));
  EXPECT_EQ(graph[first(graph, &kAttention).outputs[1]].shape, Shape({2, 2, 3}));
}

TEST(GraphBuilder, KeepsEqualConstantsOnceAndRefusesOthersThanFill) {
  GraphBuilder out({.samples = 2, .length = 3}, Dtype::bf16);
  const TensorId two = out.constant("two", {2, 1}, {1, 2});
  EXPECT_EQ(out.constant("again", {2, 1}, {1, 2}), two);
  EXPECT_NE(out.constant("other", {2, 1}, {1, 3}), two);
  EXPECT_NE(out.constant("flat", {2}, {1, 2}), two);
  EXPECT_EQ(out[two].role, Role::constant);
  EXPECT_THAT(error_of([&] {
                out.constant("three", {3}, {1, 2});
              }),
              HasSubstr("constant three [3] with 2 values"));
}

/// A builder of chunks of 3 tokens in a context of 20, with x [3, 4].
struct ChunkScene {
  GraphBuilder out{Chunk{.length = 3, .context = 20}, Dtype::bf16};
  int32_t unit = out.unit("only");
  TensorId table = out.parameter({.name = "table", .shape = {8, 4}});
  TensorId positions = out.parameter({.name = "positions", .shape = {20, 4}});
  TensorId tokens = tiny_ids(out, "tokens");
  TensorId x = embedding(out, tokens, table, positions);
  TensorId wide = out.parameter({.name = "wide.weight", .shape = {4, 12}});
  TensorId bias = out.parameter({.name = "wide.bias", .shape = {12}});
};

TEST(GraphBuilder, WritesAChunkWithTheOpsThatGoWithACache) {
  ChunkScene scene;
  const TensorId y =
      attention(scene.out, linear(scene.out, scene.x, scene.wide, scene.bias), {.heads = 2});
  const TensorId sum = dropout_add(scene.out, y, scene.x, 0, "sum");
  logits(scene.out, sum, scene.table, 7);
  const Graph graph = scene.out.finish();
  std::vector<OpKind> kinds;
  for (const Op& op : graph.ops) kinds.push_back(op.kind);
  EXPECT_THAT(kinds, ::testing::ElementsAre(&kEmbeddingAt, &kRowLinear, &kCachedAttention, &kAdd,
                                            &kLogits));
  const Tensor& cache = graph[first(graph, &kCachedAttention).outputs[1]];
  EXPECT_EQ(cache.shape, Shape({2 * 4, 64})) << "keys and values of 20 tokens, in a whole panel";
  EXPECT_EQ(cache.role, Role::cache);
  EXPECT_EQ(graph[graph.output(kLogitsOutput)].shape, Shape({1, 7}));
  EXPECT_EQ(graph[graph.output(kLogitsOutput)].dtype, Dtype::f32);
  EXPECT_EQ(graph[graph.decode_inputs].bytes(), int64_t(sizeof(kernels::DecodeInputs)));
  // Tokens, where they stand, what moves, whose logits are wanted.
  constexpr FilledBy kHost = FilledBy::generation;
  EXPECT_THAT(fillers(graph), ::testing::ElementsAre(FilledBy::step, kHost, kHost, kHost, kHost));
}

/// Both bodies of a model with an encoder: x of texts looks at what the encoder has made of x.
Graph two_sides(bool encodes) {
  GraphBuilder out({.length = 3,
                    .context = 20,
                    .texts = 2,
                    .source_context = 70,
                    .sources = 5,
                    .encodes = encodes},
                   Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 4}});
  const TensorId keys = out.parameter({.name = "keys.weight", .shape = {4, 8}});
  out.turn_to(Side::source);
  const TensorId source = embedding(out, tiny_ids(out, "source"), table);
  const TensorId kv = linear(out, source, keys, kNone);
  out.turn_to(Side::text);
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), table);
  logits(out, cross_attention(out, x, kv, {.heads = 2, .causal = false}), table, 7);
  return out.finish();
}

TEST(GraphBuilder, GivesEachSideItsOpsAndBothTheSameParametersAndCaches) {
  const Graph source = two_sides(true), text = two_sides(false);
  const auto kinds = [](const Graph& graph) {
    std::vector<OpKind> list;
    for (const Op& op : graph.ops) list.push_back(op.kind);
    return list;
  };
  EXPECT_THAT(kinds(source), ::testing::ElementsAre(&kEmbeddingAt, &kRowLinear, &kStoreKeys));
  EXPECT_THAT(kinds(text), ::testing::ElementsAre(&kEmbeddingAt, &kCachedAttention, &kLogits));
  EXPECT_EQ(source.parameters.size(), text.parameters.size());
  const Tensor& stored = source[first(source, &kStoreKeys).outputs[0]];
  const Tensor& read = text[first(text, &kCachedAttention).inputs[1]];
  EXPECT_EQ(stored.name, read.name);
  EXPECT_EQ(stored.shape, Shape({5 * 2 * 4, 128})) << "keys and values of five sources";
  const auto has = [](const Graph& graph, const char* name) {
    return std::ranges::any_of(
        graph.inputs, [&](const Input& input) { return graph[input.tensor].name == name; });
  };
  EXPECT_TRUE(has(source, "source") && !has(source, "tokens"));
  EXPECT_TRUE(has(text, "tokens") && !has(text, "source"));
  EXPECT_FALSE(has(text, kMovesInput)) << "no text has a cache of its own";
}

TEST(GraphBuilder, RefusesAChunkWithTargetsOrWithoutPositions) {
  ChunkScene scene;
  EXPECT_THAT(error_of([&] { classifier(scene.out, scene.x, scene.table, scene.tokens, 7, 1); }),
              HasSubstr("use logits()"));
  EXPECT_THAT(error_of([&] { embedding(scene.out, scene.tokens, scene.table, scene.table); }),
              HasSubstr("no row for each of 20 tokens"));
  Scene micro;
  EXPECT_THAT(error_of([&] { logits(micro.out, micro.x, micro.table, 7); }),
              HasSubstr("use classifier()"));
}

TEST(GraphBuilder, MakesWhatTheHostWritesBeforeAStep) {
  const Graph graph = tiny_forward(0, 0);
  EXPECT_THAT(fillers(graph),
              ::testing::ElementsAre(FilledBy::step, FilledBy::data, FilledBy::data));
  EXPECT_EQ(graph[graph.input("tokens")].shape, Shape({6}));
  EXPECT_EQ(graph[graph.input("targets")].dtype, Dtype::i32);
  EXPECT_EQ(graph[graph.step_inputs].bytes(), int64_t(sizeof(kernels::StepInputs)));
  EXPECT_EQ(graph[graph.step_state].bytes(), int64_t(sizeof(kernels::StepState)));
  EXPECT_EQ(graph[graph.output(kLossOutput)].bytes(), int64_t(sizeof(kernels::StepSums)));
}

TEST(GraphBuilder, TakesInputsOfSeveralLengths) {
  Scene scene;
  const TensorId source =
      scene.out.input({.name = "source", .sample = {2, 3}, .dtype = Dtype::f32});
  const TensorId two = scene.out.input({.name = "two", .sample = {2}, .ids = 8});
  const TensorId x = embedding(scene.out, two, scene.table, scene.positions);
  EXPECT_EQ(scene.out[source].shape, Shape({2 * 2, 3}));
  EXPECT_EQ(scene.out[x].shape, Shape({2 * 2, 4}));
  const Graph graph = scene.out.finish();
  EXPECT_EQ(graph.inputs.back().ids, 8);
}

TEST(GraphBuilder, RefusesEmptyInputsAndIdsThatAreNoWholeNumbers) {
  Scene scene;
  EXPECT_THAT(error_of([&] { scene.out.input({.name = "none", .sample = {0}}); }),
              HasSubstr("none of [0] a sample is empty"));
  EXPECT_THAT(error_of([&] {
                scene.out.input({.name = "half", .sample = {1}, .dtype = Dtype::f32, .ids = 2});
              }),
              HasSubstr("half are not of type i32"));
  const TensorId few = scene.out.input({.name = "few", .sample = {1}, .ids = 8});
  EXPECT_THAT(error_of([&] { classifier(scene.out, scene.x, scene.table, few, 7, 1); }),
              HasSubstr("few [2] has no class for each row of"));
}

TEST(GraphBuilder, KeepsTheParametersOfAUnitTogetherThoughItIsBegunTwice) {
  const Graph graph = tiny_forward(1, 0);
  EXPECT_THAT(graph.unit_names, ::testing::ElementsAre("embedding", "h.0"));
  std::vector<std::string> names;
  for (const Parameter& parameter : graph.parameters) {
    names.push_back(std::to_string(parameter.unit) + " " + graph[parameter.tensor].name);
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("0 wte", "0 wpe", "0 ln_f.weight", "0 ln_f.bias",
                                     "1 h.0.ln.weight", "1 h.0.ln.bias", "1 h.0.up.weight",
                                     "1 h.0.up.bias", "1 h.0.down.weight", "1 h.0.down.bias"));
}

TEST(GraphBuilder, NumbersEveryUseOfDropout) {
  const Graph graph = tiny_forward(2, 0.5f);
  std::vector<int64_t> sites;
  for (const Op& op : graph.ops) {
    if (op.kind == &kAttention)
      sites.push_back(op.attributes.as<AttentionAttributes>().dropout.site);
    if (op.kind == &kDropoutAdd) sites.push_back(op.attributes.as<DropoutAttributes>().site);
  }
  EXPECT_THAT(sites, ::testing::ElementsAre(0, 1, 2, 3));
}

TEST(GraphBuilder, CountsPaddingOutOfAParametersRealElements) {
  const Graph graph = tiny_forward(0, 0);
  EXPECT_EQ(graph.parameters[0].real_numel, 5 * 4);
  EXPECT_EQ(graph.parameters[1].real_numel, 10 * 4);
}

TEST(GraphBuilder, RefusesAProductWhoseInnerExtentsDifferAndNamesBothTensors) {
  Scene scene;
  EXPECT_THAT(error_of([&] { linear(scene.out, scene.x, scene.wide, scene.bias); }),
              HasSubstr("embedding(table) [6, 4] times wide [5, 12]"));
}

TEST(GraphBuilder, RefusesWhatCannotBeAddedOrNormalised) {
  Scene scene;
  EXPECT_THAT(error_of([&] { dropout_add(scene.out, scene.x, scene.table, 0, "sum"); }),
              HasSubstr("embedding(table) [6, 4] and table [8, 4] cannot be added"));
  EXPECT_THAT(error_of([&] { layernorm(scene.out, scene.x, scene.wide, scene.bias, 0); }),
              HasSubstr("wide [5, 12] does not fit embedding(table) [6, 4]"));
  EXPECT_EQ(error_of([&] { layernorm(scene.out, scene.x, scene.bias, scene.bias, 0); }),
            "no error");
}

TEST(GraphBuilder, RefusesHeadsThatDoNotSplitTheWidth) {
  Scene scene;
  EXPECT_THAT(error_of([&] { attention(scene.out, scene.x, {.heads = 2}); }),
              HasSubstr("does not split into 6 heads"));
  ChunkScene one;
  const TensorId qkv = linear(one.out, one.x, one.wide, one.bias);
  EXPECT_EQ(error_of([&] { attention(one.out, qkv, {.heads = 1}); }), "no error");
}

TEST(GraphBuilder, RefusesATableThatIsTooSmall) {
  Scene scene;
  EXPECT_THAT(error_of([&] { classifier(scene.out, scene.x, scene.table, scene.tokens, 9, 1); }),
              HasSubstr("table [8, 4] has no rows for 9 classes"));
  EXPECT_THAT(error_of([&] { classifier(scene.out, scene.x, scene.wide, scene.tokens, 5, 1); }),
              HasSubstr("embedding(table) [6, 4] and wide [5, 12] differ in width"));
  GraphBuilder longer({.samples = 1, .length = 4}, Dtype::f32);
  longer.unit("only");
  const TensorId table = longer.parameter({.name = "table", .shape = {8, 4}});
  const TensorId tokens = tiny_ids(longer, "tokens");
  const TensorId three = longer.parameter({.name = "positions", .shape = {3, 4}});
  EXPECT_THAT(error_of([&] { embedding(longer, tokens, table, three); }),
              HasSubstr("positions [3, 4] has no row for each of 4 tokens"));
}

TEST(GraphBuilder, RefusesDropoutOfEverything) {
  Scene scene;
  EXPECT_THAT(error_of([&] { dropout_add(scene.out, scene.x, kNone, 1.0f, "all"); }),
              HasSubstr("less than 1"));
}

TEST(GraphBuilder, WantsASampleOfATokenAtLeast) {
  EXPECT_NO_THROW(GraphBuilder({.samples = 1, .length = 1}, Dtype::f32));
  for (const MicroBatch& none :
       {MicroBatch{.samples = 0, .length = 1}, {.samples = 1, .length = 0}})
    EXPECT_THAT(error_of([&] { GraphBuilder(none, Dtype::f32); }), HasSubstr("both must be"));
}

TEST(GraphBuilder, RefusesCodeBeforeTheFirstUnit) {
  GraphBuilder out({.samples = 1, .length = 1}, Dtype::f32);
  EXPECT_THAT(error_of([&] { out.parameter({.name = "w", .shape = {1}}); }),
              HasSubstr("before the first unit"));
}

}  // namespace
}  // namespace zero::graph
