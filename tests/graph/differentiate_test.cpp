// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/graph/ops/kinds.hpp"
#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"
#include "zero/base/error.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

const char* const kForward =
    "embedding layernorm linear attention gelu linear dropout_add layernorm classifier";

bool contains(const std::vector<TensorId>& tensors, TensorId tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

std::string error_of(const Graph& forward) {
  try {
    differentiate(forward);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInternal);
    return error.what();
  }
  return "no error";
}

TEST(Differentiate, WritesTheBackwardPassInReverseWithWeightGradientsFirst) {
  EXPECT_EQ(kinds(differentiate(tiny_forward(1, 0.5f))),
            std::string(kForward) +
                " layernorm_grad"
                " dropout_add"
                " linear_weight_grad linear_bias_grad linear_input_grad"
                " gelu_grad attention_grad"
                " linear_weight_grad linear_bias_grad linear_input_grad"
                " layernorm_grad embedding_grad");
}

TEST(Differentiate, NeedsNoOpForAnAdditionWithoutDropout) {
  EXPECT_EQ(kinds(differentiate(tiny_forward(1, 0.0f))),
            std::string(kForward) +
                " layernorm_grad"
                " linear_weight_grad linear_bias_grad linear_input_grad"
                " gelu_grad attention_grad"
                " linear_weight_grad linear_bias_grad linear_input_grad"
                " layernorm_grad embedding_grad");
}

TEST(Differentiate, MarksWhatItAppendsAndLeavesTheForwardPassAsItIs) {
  const Graph forward = tiny_forward(1, 0.5f);
  const Graph graph = differentiate(forward);
  const size_t classifier = forward.ops.size() - 1;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    EXPECT_EQ(graph.ops[i].backward, i >= classifier) << "op " << i;
  }
  EXPECT_EQ(graph.ops[classifier].outputs.size(), 3u);
  EXPECT_EQ(graph.ops[classifier + 1].unit, 0);
  EXPECT_EQ(graph.ops[classifier + 2].unit, 1);
  EXPECT_EQ(graph.ops.back().unit, 0);
}

TEST(Differentiate, LetsTheNormAddTheGradientOfTheResidualBranch) {
  const Graph graph = differentiate(tiny_forward(1, 0.5f));
  std::vector<const Op*> norms;
  for (const Op& op : graph.ops) {
    if (op.kind == &kLayernormGrad) norms.push_back(&op);
  }
  ASSERT_EQ(norms.size(), 2u);
  EXPECT_EQ(norms[0]->inputs[5], kNone);
  EXPECT_EQ(norms[1]->inputs[5], norms[0]->outputs[0]);
}

TEST(Differentiate, DropsTheSameElementsOnTheWayBack) {
  const Graph graph = differentiate(tiny_forward(1, 0.5f));
  std::vector<const Op*> drops;
  for (const Op& op : graph.ops) {
    if (op.kind == &kDropoutAdd) drops.push_back(&op);
  }
  ASSERT_EQ(drops.size(), 2u);
  EXPECT_EQ(drops[1]->attributes, drops[0]->attributes);
  EXPECT_EQ(drops[1]->inputs[1], kNone);
}

TEST(Differentiate, WritesEveryParametersGradientOnceBeforeItIsUpdated) {
  const Graph graph = differentiate(tiny_forward(3, 0.5f, Dtype::f16));
  for (const Parameter& parameter : graph.parameters) {
    const Tensor& gradient = graph[parameter.gradient];
    EXPECT_EQ(gradient.shape, graph[parameter.tensor].shape);
    EXPECT_EQ(gradient.dtype, Dtype::f16);
    EXPECT_EQ(gradient.role, Role::gradient);
    EXPECT_EQ(gradient.parameter, parameter.tensor);
    int writes = 0;
    for (const Op& op : graph.ops) {
      const bool reads = contains(op.inputs, parameter.gradient);
      EXPECT_TRUE(!reads || writes == 1) << gradient.name << " is read before it is written";
      writes += contains(op.outputs, parameter.gradient) && !reads;
    }
    EXPECT_EQ(writes, 1) << gradient.name;
  }
}

TEST(Differentiate, AddsTheGradientsOfAnActivationThatIsUsedTwice) {
  GraphBuilder out({.samples = 1, .length = 2}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 4}});
  const TensorId positions = out.parameter({.name = "positions", .shape = {2, 4}});
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), table, positions);
  const TensorId left = tiny_linear(out, x, "left", {4, 4});
  const TensorId right = tiny_linear(out, x, "right", {4, 4});
  classifier(out, dropout_add(out, left, right, 0, "sum"), table, tiny_ids(out, "targets"), 8, 2);
  const Graph graph = differentiate(out.finish());
  const Op& add = first(graph, &kAdd);
  EXPECT_EQ(graph[add.outputs[0]].name, "d(embedding(table))");
  EXPECT_EQ(first(graph, &kEmbeddingGrad).inputs[1], add.outputs[0]);
}

TEST(Differentiate, AddsTheGradientsOfAParameterThatSeveralUnitsUse) {
  GraphBuilder out({.samples = 1, .length = 2}, Dtype::f32);
  out.unit("first");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 4}});
  const TensorId positions = out.parameter({.name = "positions", .shape = {2, 4}});
  const TensorId weight = out.parameter({.name = "w.weight", .shape = {4, 4}});
  const TensorId bias = out.parameter({.name = "w.bias", .shape = {4}});
  TensorId x = embedding(out, tiny_ids(out, "tokens"), table, positions);
  for (const char* unit : {"first", "second", "third"}) {
    out.unit(unit);
    x = linear(out, x, weight, bias);
  }
  classifier(out, x, table, tiny_ids(out, "targets"), 8, 2);
  const Graph graph = differentiate(out.finish());
  EXPECT_EQ(kinds(graph),
            "embedding linear linear linear classifier"
            " linear_weight_grad linear_bias_grad linear_input_grad"
            " linear_weight_grad linear_bias_grad linear_input_grad add add"
            " linear_weight_grad linear_bias_grad linear_input_grad add add embedding_grad");
  const TensorId whole = graph.parameters[2].gradient;
  std::vector<int32_t> layers;
  for (const Op& op : graph.ops) {
    if (op.kind != &kAdd || !contains(op.outputs, whole)) continue;
    EXPECT_EQ(op.inputs.front(), whole) << "in place, into what later uses gave";
    EXPECT_EQ(graph[op.inputs.back()].role, Role::activation);
    layers.push_back(op.unit);
  }
  EXPECT_THAT(layers, ElementsAre(1, 0)) << "from the last use but one to the first";
}

TEST(Differentiate, AddsTheGradientsOfAWeightThatIsMadeFromAParameterAndUsedTwice) {
  GraphBuilder out({.samples = 1, .length = 2}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 4}});
  const TensorId positions = out.parameter({.name = "positions", .shape = {2, 4}});
  const TensorId narrow = out.parameter({.name = "w.weight", .shape = {4, 2}});
  const TensorId bias = out.parameter({.name = "w.bias", .shape = {4}});
  const TensorId wide = out.activation("w.weight.wide", Dtype::f32, {4, 4});
  out.add(resizing(narrow, wide, 4));
  const TensorId x =
      linear(out, embedding(out, tiny_ids(out, "tokens"), table, positions), wide, bias);
  classifier(out, linear(out, x, wide, bias), table, tiny_ids(out, "targets"), 8, 2);
  const Graph graph = differentiate(out.finish());
  EXPECT_EQ(kinds(graph),
            "resize_heads embedding linear linear classifier"
            " linear_weight_grad linear_bias_grad linear_input_grad"
            " linear_weight_grad linear_bias_grad linear_input_grad add add"
            " embedding_grad resize_heads");
  const Op& back = graph.ops.back();
  const auto sum = std::ranges::find_if(
      graph.ops, [&](const Op& op) { return contains(op.outputs, back.inputs[0]); });
  EXPECT_EQ(sum->kind, &kAdd);
  EXPECT_EQ(graph[back.inputs[0]].shape, (Shape{4, 4}));
  EXPECT_EQ(back.outputs[0], graph.parameters[2].gradient);
}

TEST(Differentiate, RefusesAParameterThatTheLossDoesNotDependOn) {
  GraphBuilder out({.samples = 1, .length = 2}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 4}});
  const TensorId positions = out.parameter({.name = "positions", .shape = {2, 4}});
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), table, positions);
  tiny_linear(out, x, "unused", {4, 4});
  classifier(out, x, table, tiny_ids(out, "targets"), 8, 2);
  EXPECT_THAT(error_of(out.finish()), HasSubstr("does not depend on parameter unused.weight"));
}

TEST(Differentiate, RefusesAParameterWhereOnlyActivationsHaveAGradient) {
  GraphBuilder out({.samples = 1, .length = 2}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 4}});
  const TensorId positions = out.parameter({.name = "positions", .shape = {2, 4}});
  const TensorId shift = out.parameter({.name = "shift", .shape = {2, 4}});
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), table, positions);
  const TensorId moved = add(out, x, shift, "moved");
  classifier(out, moved, table, tiny_ids(out, "targets"), 8, 2);
  EXPECT_THAT(error_of(out.finish()), HasSubstr("parameter shift is used where"));
}

TEST(Differentiate, RefusesAGraphWithoutALoss) {
  Graph graph = tiny_forward(1, 0);
  graph.ops.pop_back();
  EXPECT_THAT(error_of(graph), HasSubstr("must end with its loss"));
}

using Names = std::vector<std::string>;

std::string parameter_name(const Graph& graph, const Parameter& parameter) {
  return graph[parameter.tensor].name;
}

/// Freezes the parameters whose names begin so.
Graph frozen(const Graph& graph, const Names& beginnings) {
  std::vector<bool> choice;
  for (const Parameter& parameter : graph.parameters) {
    const std::string name = parameter_name(graph, parameter);
    choice.push_back(std::ranges::any_of(
        beginnings, [&](const std::string& begin) { return name.starts_with(begin); }));
  }
  return freeze(graph, choice);
}

/// The kinds behind the forward pass of one layer.
std::string backward_of(const Names& beginnings) {
  const std::string all = kinds(differentiate(frozen(tiny_forward(1, 0.5f), beginnings)));
  return all.substr(all.find("classifier"));
}

TEST(Freeze, PartsAUnitAndLeavesTheOrderOfParameters) {
  const Graph forward = tiny_forward(2, 0);
  const Graph graph = frozen(forward, {"wte", "h.1"});
  EXPECT_THAT(graph.unit_names, ElementsAre("embedding", "h.0", "h.1", "embedding.frozen"));
  ASSERT_EQ(graph.parameters.size(), forward.parameters.size());
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const Parameter &was = forward.parameters[p], &is = graph.parameters[p];
    EXPECT_EQ(is.tensor, was.tensor) << "the place in the list seeds initial values";
    EXPECT_EQ(is.frozen, parameter_name(graph, is) == "wte" || was.unit == 2);
    EXPECT_EQ(is.unit, parameter_name(graph, is) == "wte" ? 3 : was.unit) << "h.1 stays whole";
  }
  EXPECT_EQ(frozen_numel(graph), 5 * 4 + (4 + 4 + 4 * 12 + 12 + 4 * 4 + 4)) << "without padding";
  EXPECT_EQ(frozen_numel(forward), 0);
}

TEST(Borrow, FreezesAndMarksTheSame) {
  const Graph forward = tiny_forward(2, 0);
  std::vector<bool> borrowed;
  for (const Parameter& parameter : forward.parameters) borrowed.push_back(parameter.unit != 1);
  const Graph graph = borrow(forward, borrowed);
  for (size_t p = 0; p < borrowed.size(); ++p) {
    EXPECT_EQ(graph.parameters[p].borrowed, borrowed[p]);
    EXPECT_EQ(graph.parameters[p].frozen, borrowed[p]);
  }
  EXPECT_TRUE(borrows(graph));
  EXPECT_FALSE(borrows(forward));
}

TEST(Freeze, RefusesToLeaveNothing) {
  const Graph graph = tiny_forward(1, 0);
  EXPECT_THROW(freeze(graph, std::vector(graph.parameters.size(), true)), Error);
  EXPECT_THROW(freeze(graph, {true}), Error);
  EXPECT_THROW(borrow(graph, {true}), Error);
}

TEST(Frozen, ATableLeavesTheClassifierItsInputsGradientAlone) {
  EXPECT_EQ(backward_of({"wte"}),
            "classifier layernorm_grad dropout_add"
            " linear_weight_grad linear_bias_grad linear_input_grad gelu_grad attention_grad"
            " linear_weight_grad linear_bias_grad linear_input_grad layernorm_grad position_grad");
  const Graph graph = differentiate(frozen(tiny_forward(1, 0.5f), {"wte"}));
  EXPECT_EQ(first(graph, &kClassifierInputGrad).outputs.size(), 2u);
  EXPECT_EQ(first(graph, &kPositionGrad).outputs.front(), graph.parameters[1].gradient);
  EXPECT_EQ(graph.parameters[0].gradient, kNone);
}

TEST(Frozen, NothingIsMadeInFrontOfTheFirstTrainedParameter) {
  const std::string behind = "classifier layernorm_grad dropout_add linear_weight_grad";
  EXPECT_EQ(backward_of({"w", "h.0.ln", "h.0.up"}), behind + " linear_bias_grad");
  EXPECT_EQ(backward_of({"w", "h.0.ln", "h.0.up", "h.0.down.bias"}), behind);
  EXPECT_EQ(backward_of({"w", "h.0"}), "classifier layernorm_grad");
  EXPECT_EQ(backward_of({"h.0", "wpe", "ln_f"}),
            "classifier layernorm_grad dropout_add linear_input_grad gelu_grad attention_grad"
            " linear_input_grad layernorm_grad embedding_grad")
      << "a gradient goes through what is frozen to what is not";
}

TEST(Frozen, OneOfALayersWeightAndBiasLeavesTheOther) {
  EXPECT_THAT(backward_of({"w", "h.0.ln", "h.0.up.weight"}),
              EndsWith(" linear_input_grad gelu_grad attention_grad linear_bias_grad"));
  EXPECT_THAT(backward_of({"w", "h.0.ln", "h.0.up.bias"}),
              EndsWith(" linear_input_grad gelu_grad attention_grad linear_weight_grad"));
}

/// Gradients of trained parameters, by name.
std::map<std::string, std::vector<float>> gradients(const Graph& forward) {
  zero::testing::TriedGraph tried(forward);
  tried.loss();
  std::map<std::string, std::vector<float>> all;
  for (const Parameter& parameter : tried.graph().parameters) {
    if (parameter.gradient == kNone) continue;
    const std::span<const float> values = tried.values(parameter.gradient);
    all[parameter_name(forward, parameter)] = {values.begin(), values.end()};
  }
  return all;
}

TEST(Frozen, OthersHaveTheGradientsOfAWholeTrainingToTheBit) {
  const Graph forward = tiny_forward(2, 0);
  const auto whole = gradients(forward);
  for (const Names& names : {Names{"wte"}, Names{"wte", "wpe", "ln_f"}, Names{"h.1"},
                             Names{"wpe", "h.0.down.weight", "h.1.ln"}, Names{"w", "h.0"}}) {
    const auto some = gradients(frozen(forward, names));
    EXPECT_LT(some.size(), whole.size());
    for (const auto& [name, gradient] : some) EXPECT_EQ(gradient, whole.at(name)) << name;
  }
}

}  // namespace

}  // namespace zero::graph
