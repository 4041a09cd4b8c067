// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"
#include "zero/base/error.hpp"
#include "zero/graph/passes.hpp"

namespace zero::graph {
namespace {

using ::testing::ElementsAre, ::testing::EndsWith;

using Names = std::vector<std::string>;

std::string name_of(const Graph& graph, const Parameter& parameter) {
  return graph[parameter.tensor].name;
}

/// Freezes the parameters whose names begin so.
Graph frozen(const Graph& graph, const Names& beginnings) {
  std::vector<bool> choice;
  for (const Parameter& parameter : graph.parameters) {
    const std::string name = name_of(graph, parameter);
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
    EXPECT_EQ(is.frozen, name_of(graph, is) == "wte" || was.unit == 2);
    EXPECT_EQ(is.unit, name_of(graph, is) == "wte" ? 3 : was.unit) << "h.1 stays whole";
  }
  EXPECT_EQ(frozen_numel(graph), 5 * 4 + (4 + 4 + 4 * 12 + 12 + 4 * 4 + 4)) << "without padding";
  EXPECT_EQ(frozen_numel(forward), 0);
}

TEST(Freeze, RefusesToLeaveNothing) {
  const Graph graph = tiny_forward(1, 0);
  EXPECT_THROW(freeze(graph, std::vector(graph.parameters.size(), true)), Error);
  EXPECT_THROW(freeze(graph, {true}), Error);
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
    all[name_of(forward, parameter)] = {values.begin(), values.end()};
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
