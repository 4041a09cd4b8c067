// Ranks: 1

#include "zero/graph/graph.hpp"

#include <gtest/gtest.h>

#include "tests/support/parameter_numel.hpp"
#include "tests/support/tiny_graph.hpp"

namespace zero::graph {
namespace {

TEST(Graph, CountsTheElementsOfAllParametersPaddingIncluded) {
  // wte 8 x 4, wpe 10 x 4, ln_f 2 x 4; a layer: norm 2 x 4, up 4 x 12 + 12, down 4 x 4 + 4.
  EXPECT_EQ(parameter_numel(tiny_forward(0, 0)), 80);
  EXPECT_EQ(parameter_numel(tiny_forward(2, 0)), 80 + 2 * 88);
}

TEST(Graph, KnowsTheBytesOfATensor) {
  EXPECT_EQ((Tensor{.name = "t", .dtype = Dtype::bf16, .shape = {3, 5}}.bytes()), 30);
}

TEST(Graph, FindsParametersByTheirTensors) {
  const Graph graph = tiny_forward(1, 0);
  const std::vector<int32_t> index = parameter_index(graph);
  ASSERT_EQ(index.size(), graph.tensors.size());
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    EXPECT_EQ(index[size_t(graph.parameters[p].tensor)], int32_t(p));
  }
  EXPECT_EQ(index[size_t(graph.input("tokens"))], kNone);
}

TEST(Graph, FindsInputsAndOutputsByTheirNames) {
  const Graph graph = tiny_forward(1, 0);
  EXPECT_EQ(graph[graph.input("targets")].name, "targets");
  EXPECT_EQ(graph.input("step inputs"), graph.step_inputs);
  EXPECT_EQ(graph[graph.output(kLossOutput)].name, "step sums");
  EXPECT_THROW(graph.input("pixels"), Error);
  EXPECT_THROW(graph.output(kLogitsOutput), Error);
}

}  // namespace
}  // namespace zero::graph
