// Ranks: 1

#include <gtest/gtest.h>

#include <set>

#include "src/model/gpt2.hpp"
#include "tests/support/forward_of.hpp"
#include "tests/support/tiny_graph.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

const char* const kForward =
    "embedding layernorm linear attention gelu linear dropout_add layernorm classifier";

std::string kinds_after(const Graph& graph, Recompute policy) {
  return kinds(recompute(graph, {policy}));
}

/// Names of what forward code of `layer` writes and any backward op reads.
std::set<std::string> kept(const Graph& graph, int32_t layer) {
  std::set<TensorId> made;
  std::set<std::string> names;
  for (const Op& op : graph.ops) {
    if (!op.backward && op.unit == layer) made.insert(op.outputs.begin(), op.outputs.end());
    if (!op.backward) continue;
    for (TensorId input : op.inputs) {
      if (made.count(input)) names.insert(graph[input].name);
    }
  }
  return names;
}

/// Every activation is written before it is read, and written once.
void expect_order(const Graph& graph) {
  std::set<TensorId> written;
  for (const Op& op : graph.ops) {
    for (TensorId input : op.inputs) {
      if (input == kNone || graph[input].role != Role::activation) continue;
      EXPECT_TRUE(written.count(input)) << graph[input].name << " is read before it is written";
    }
    for (TensorId output : op.outputs) {
      if (graph[output].role != Role::activation) continue;
      EXPECT_TRUE(written.insert(output).second) << graph[output].name << " is written twice";
    }
  }
}

TEST(Recompute, OfNothingChangesNothing) {
  const Graph graph = differentiate(tiny_forward(1, 0.5f));
  EXPECT_EQ(kinds_after(graph, Recompute::none), kinds(graph));
}

TEST(Recompute, WeightsOfWiderHeadsAreMadeAgainWhateverIsChosen) {
  const Graph graph = differentiate(pad_heads(
      model::forward_of(
          model::Gpt2{.layers = 1, .width = 12, .heads = 2, .vocabulary = 5, .positions = 4},
          {.micro = {.samples = 1, .length = 4}, .compute = Dtype::bf16, .training = true}),
      8));
  EXPECT_EQ(kept(graph, 1).count("h.0.attn.c_attn.weight.wide"), 1u);
  for (Recompute policy : {Recompute::none, Recompute::selective, Recompute::full}) {
    const Graph again = recompute(graph, {policy});
    for (const std::string& name : kept(again, 1)) EXPECT_FALSE(name.ends_with(".wide")) << name;
    expect_order(again);
  }
}

TEST(Recompute, FullRepeatsWhatBackwardReadsBeforeTheLayersFirstBackwardOp) {
  // Neither `down` nor the last dropout_add is repeated: nothing reads what they made.
  EXPECT_EQ(kinds_after(differentiate(tiny_forward(1, 0.5f)), Recompute::full),
            std::string(kForward) +
                " layernorm_grad"
                " layernorm linear attention gelu"
                " dropout_add"
                " linear_weight_grad linear_bias_grad linear_input_grad"
                " gelu_grad attention_grad"
                " linear_weight_grad linear_bias_grad linear_input_grad"
                " layernorm_grad embedding_grad");
}

TEST(Recompute, SelectiveRepeatsNormsAndGeluJustBeforeTheirReaders) {
  EXPECT_EQ(kinds_after(differentiate(tiny_forward(1, 0.5f)), Recompute::selective),
            std::string(kForward) +
                " layernorm_grad"
                " dropout_add"
                " gelu linear_weight_grad linear_bias_grad linear_input_grad"
                " gelu_grad attention_grad"
                " layernorm linear_weight_grad linear_bias_grad linear_input_grad"
                " layernorm_grad embedding_grad");
}

TEST(Recompute, FullKeepsOfALayerOnlyItsInput) {
  const Graph graph =
      recompute(differentiate(tiny_forward(3, 0.5f)), std::vector<Recompute>(3, Recompute::full));
  EXPECT_EQ(kept(graph, 1), std::set<std::string>{"h.0"});  // what layer 2 reads
  EXPECT_EQ(kept(graph, 2), std::set<std::string>{"h.1"});
  EXPECT_EQ(kept(graph, 3), std::set<std::string>{"h.2"});  // what the final norm reads
  EXPECT_EQ(kept(graph, 0),
            (std::set<std::string>{"embedding(wte)", "ln_f", "ln_f.mean", "ln_f.rstd"}));
  expect_order(graph);
}

TEST(Recompute, SelectiveKeepsNoNormAndNoGelu) {
  const Graph graph = recompute(differentiate(tiny_forward(2, 0.5f)),
                                std::vector<Recompute>(2, Recompute::selective));
  EXPECT_EQ(kept(graph, 1), (std::set<std::string>{"h.0", "h.0.up", "attention(h.0.up)",
                                                   "attention(h.0.up).logsumexp"}));
  expect_order(graph);
}

TEST(Recompute, ChoosesBlockByBlock) {
  const Graph plain = differentiate(tiny_forward(2, 0.5f));
  const Graph graph = recompute(plain, {Recompute::none, Recompute::full});
  EXPECT_EQ(kept(graph, 0), kept(plain, 0)) << "it is no block";
  EXPECT_EQ(kept(graph, 1), kept(plain, 1));
  EXPECT_EQ(kept(graph, 2), std::set<std::string>{"h.1"});
}

TEST(Recompute, RepeatsWithTheSameAttributesAsBackwardCodeOfTheSameLayer) {
  const Graph graph = recompute(differentiate(tiny_forward(1, 0.5f)), {Recompute::full});
  std::vector<const Op*> uses;
  for (const Op& op : graph.ops) {
    if (op.kind == &kAttention) uses.push_back(&op);
  }
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[1]->attributes, uses[0]->attributes);
  EXPECT_EQ(uses[1]->unit, 1);
  EXPECT_TRUE(uses[1]->backward);
  EXPECT_EQ(graph[uses[1]->outputs[0]].name, "attention(h.0.up) again");
  EXPECT_EQ(first(graph, &kAttentionGrad).inputs[1], uses[1]->outputs[0]);
}

TEST(Recompute, LeavesAForwardGraphAlone) {
  const Graph graph = tiny_forward(1, 0);
  EXPECT_EQ(kinds_after(graph, Recompute::full), kForward);
}

TEST(Recompute, RefusesAPolicyForAnotherNumberOfBlocks) {
  EXPECT_THROW(recompute(tiny_forward(1, 0), {Recompute::full, Recompute::full}), Error);
}

}  // namespace
}  // namespace zero::graph
