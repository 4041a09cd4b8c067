// Ranks: 1

#include "zero/graph/operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/tiny_graph.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/graph/operations.hpp"
#include "zero/kernels/classifier.hpp"
#include "zero/kernels/layernorm.hpp"
#include "zero/kernels/product.hpp"

namespace zero::graph {
namespace {

double flops(const Graph& graph, OpKind kind) {
  const Op& op = first(graph, kind);
  return kind->flops(graph, op);
}

int64_t traffic(const Graph& graph, OpKind kind) {
  return kind->traffic_bytes(graph, first(graph, kind));
}

TEST(Operation, CountsTheOperationsOfProducts) {
  const Graph graph = differentiate(tiny_forward(1, 0.5f));
  EXPECT_EQ(flops(graph, &kLinear), 2 * 6 * 4 * 12);
  // The first gradients are those of the last product, 6 x 4 times 4 x 4.
  EXPECT_EQ(flops(graph, &kLinearInputGrad), 2 * 6 * 4 * 4);
  EXPECT_EQ(flops(graph, &kLinearWeightGrad), 2 * 6 * 4 * 4);
  EXPECT_EQ(flops(graph, &kGelu), 0);
}

TEST(Operation, CountsCausalAttentionByHalf) {
  const Graph graph = differentiate(tiny_forward(1, 0.5f));
  // One product: 2 samples, 2 heads of width 2, 3 x 3 scores, 2 operations, half of it masked.
  const double product = 2 * 2 * 2 * 3 * 3 * 2 / 2.0;
  EXPECT_EQ(flops(graph, &kAttention), 2 * product);
  EXPECT_EQ(flops(graph, &kAttentionGrad), 5 * product);
}

TEST(Operation, CountsThreeProductsInADifferentiatedClassifier) {
  const Graph forward = tiny_forward(1, 0);
  EXPECT_EQ(flops(forward, &kClassifier), 2 * 6 * 4 * 8);
  EXPECT_EQ(flops(differentiate(forward), &kClassifierGrad), 3 * 2 * 6 * 4 * 8);
}

TEST(Operation, AsksForTheScratchThatTheKernelsWant) {
  const Graph graph = differentiate(tiny_forward(1, 0.5f));
  const Op& norm = first(graph, &kLayernormGrad);
  EXPECT_EQ(norm.kind->scratch_bytes(graph, norm, 2),
            4 * kernels::layernorm_scratch_numel({.rows = 6, .width = 4}, false));
  const Op& bias = first(graph, &kLinearBiasGrad);
  EXPECT_EQ(bias.kind->scratch_bytes(graph, bias, 2), 4 * kernels::column_sum_scratch_numel(6, 4));
  const Op& classifier = first(graph, &kClassifierGrad);
  const kernels::ClassifierExtents head{
      .rows = 6, .width = 4, .vocabulary = 5, .padded_vocabulary = 8, .chunk_rows = 6};
  EXPECT_EQ(classifier.kind->scratch_bytes(graph, classifier, 2),
            kernels::classifier_scratch_bytes(head, Dtype::f32, true));
  const Op& gelu = first(graph, &kGelu);
  EXPECT_EQ(gelu.kind->scratch_bytes(graph, gelu, 2), 0);
}

TEST(Operation, CountsTheBytesThatAnOpReadsAndWrites) {
  const Graph graph = differentiate(tiny_forward(1, 0.5f));
  EXPECT_EQ(traffic(graph, &kGelu), 2 * 6 * 4 * 4);
  EXPECT_EQ(traffic(graph, &kLinear), 4 * (6 * 4 + 4 * 12 + 12 + 6 * 12));
}

TEST(Operation, CountsOfATableOnlyTheRowsThatAreLookedUp) {
  // 6 tokens of 4 bytes; each table at most 6 rows of 16 bytes; the output 6 rows.
  EXPECT_EQ(traffic(tiny_forward(1, 0), &kEmbedding), 6 * 4 + 96 + 96 + 96);
}

TEST(OpCall, HandsOperandsToTheKernelOfTheOpsKindAndDtype) {
  const Graph graph = tiny_forward(1, 0.0f, Dtype::bf16);
  const Op& op = first(graph, &kDropoutAdd);
  std::vector<bf16> x(24, bf16(1.5f)), residual(24, bf16(2.0f)), y(24, bf16(0.0f));
  std::vector<std::byte> inputs(size_t(graph[graph.step_inputs].bytes()));
  void* operands[] = {x.data(), residual.data(), inputs.data(), y.data()};
  Stream stream(1);
  call(stream, {.graph = &graph, .op = &op, .operands = operands});
  stream.wait();
  for (bf16 value : y) EXPECT_EQ(float(value), 3.5f);
}

TEST(OpCall, AddsWhereAnActivationHadTwoUses) {
  Graph graph = tiny_forward(0, 0.0f);
  const TensorId x = first(graph, &kEmbedding).outputs[0];
  const Op op{.kind = &kAdd, .inputs = {x, x}, .outputs = {x}};
  std::vector<float> a(24, 1.0f), b(24, 2.0f), sum(24);
  void* operands[] = {a.data(), b.data(), sum.data()};
  Stream stream(1);
  call(stream, {.graph = &graph, .op = &op, .operands = operands});
  stream.wait();
  for (float value : sum) EXPECT_EQ(value, 3.0f);
}

TEST(OpCall, RefusesAWrongNumberOfOperands) {
  const Graph graph = tiny_forward(1, 0.0f);
  const Op& op = first(graph, &kGelu);
  void* operands[] = {nullptr};
  Stream stream(1);
  try {
    call(stream, {.graph = &graph, .op = &op, .operands = operands});
    FAIL() << "gelu takes x and y";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("gelu takes 2 operands, not 1"));
  }
}

TEST(OpCall, WritesOrAddsTheGradientOfAWeightToASumInFp32) {
  const Graph plain = differentiate(tiny_forward(1, 0.0f, Dtype::bf16));
  for (const Graph& graph : {plain, fuse(plain)}) {
    const bool fused = kinds(graph) != kinds(plain);
    const Op& op = first(graph, fused ? &kLinearParameterGrad : &kLinearWeightGrad);
    // x and dy have 6 rows: 6 x 2 x 0.5.
    const auto numel = [&](TensorId tensor) { return size_t(graph[tensor].shape.numel()); };
    std::vector<bf16> x(numel(op.inputs[0]), bf16(2.0f)), dy(numel(op.inputs[1]), bf16(0.5f));
    std::vector<bf16> bias(size_t(graph[op.inputs[1]].shape[1]));
    std::vector<float> sum(numel(op.outputs[0]), NAN), scratch(1000);
    std::vector<void*> operands{x.data(), dy.data(), sum.data()};
    if (fused) operands.push_back(bias.data());
    Stream stream(1);
    for (const bool add : {false, true, true}) {
      call(stream, {.graph = &graph,
                    .op = &op,
                    .operands = operands,
                    .scratch = {scratch.data()},
                    .sums = true,
                    .add = add});
    }
    stream.wait();
    for (float value : sum) EXPECT_EQ(value, 3 * 6.0f);
    for (bf16 value : bias) EXPECT_EQ(float(value), fused ? 3.0f : 0.0f);
  }
}

TEST(OpCall, RefusesASumOfWhatNoProductAdds) {
  const Graph graph = tiny_forward(1, 0.0f);
  const Op& op = first(graph, &kGelu);
  std::vector<float> x(24), y(24);
  void* operands[] = {x.data(), y.data()};
  Stream stream(1);
  EXPECT_THROW(call(stream, {.graph = &graph, .op = &op, .operands = operands, .sums = true}),
               Error);
}

TEST(ComputeDtype, IsThatOfTheFirstInputOfFloatingPoint) {
  const Graph graph = differentiate(tiny_forward(1, 0, Dtype::bf16));
  for (const Op& op : graph.ops) EXPECT_EQ(compute_dtype(graph, op), Dtype::bf16) << op.kind->name;
}

struct Kind {
  template <class S>
  struct In {
    S a, b;
  };
  template <class S>
  struct Out {
    S c;
    S d = kAbsent<S>;
  };
};

TEST(Operands, HaveTheNamesThatTheirKindGivesThem) {
  const Op op = make_op<Kind>(kAdd, {.a = 5, .b = kNone}, {.c = 7});
  EXPECT_EQ(op.inputs, (std::vector<TensorId>{5, kNone}));
  EXPECT_EQ(inputs<Kind>(op).b, kNone);
  EXPECT_EQ(outputs<Kind>(op).c, 7);
  Op wrong = op;
  wrong.inputs.pop_back();
  EXPECT_THROW(inputs<Kind>(wrong), Error);
}

TEST(Operands, EndInFrontOfAnOutputThatIsAbsent) {
  Op op = make_op<Kind>(kAdd, {.a = 5, .b = 6}, {.c = 7});
  EXPECT_EQ(op.outputs, std::vector<TensorId>{7});
  EXPECT_EQ(outputs<Kind>(op).d, kNone);
  set_outputs<Kind>(op, {.c = 7, .d = 8});
  EXPECT_EQ(op.outputs, (std::vector<TensorId>{7, 8}));
  EXPECT_EQ(outputs<Kind>(op).d, 8);
  float values[3] = {};
  void* operands[] = {&values[0], &values[1], &values[2]};
  op.outputs.pop_back();
  const auto out = outputs<Kind>(OpCall{.graph = nullptr, .op = &op, .operands = operands});
  EXPECT_EQ(static_cast<float*>(out.c), &values[2]);
  EXPECT_TRUE(out.d == nullptr);
  op.outputs.clear();
  EXPECT_THROW(outputs<Kind>(op), Error) << "c is always there";
}

TEST(Attributes, AreEqualByTypeAndBytesAndReadAsWhatTheyAre) {
  struct Other {
    int64_t samples = 0;
    double probability = 0;
    int64_t site = 0;
  };
  const Attributes drops = DropoutAttributes{.samples = 2, .probability = 0.5, .site = 3};
  EXPECT_EQ(drops.as<DropoutAttributes>().site, 3);
  EXPECT_EQ(drops, (DropoutAttributes{.samples = 2, .probability = 0.5, .site = 3}));
  EXPECT_NE(drops, (DropoutAttributes{.samples = 2, .probability = 0.5, .site = 4}));
  EXPECT_NE(drops, Attributes(Other{.samples = 2, .probability = 0.5, .site = 3}));
  EXPECT_THROW(drops.as<Other>(), Error);
  EXPECT_THROW(Attributes().as<Other>(), Error);
}

TEST(Attributes, HaveAsManyMembersAsTheirKindNeeds) {
  struct Pair {
    double scale = 0;
    int64_t count = 0;
  };
  struct Many {
    int64_t first = 0;
    Pair pairs[9] = {};
    double last = 0;
  };
  Many many{.first = 1, .last = 2.5};
  many.pairs[8] = {.scale = 0.5, .count = 7};
  const Attributes attributes = many;
  EXPECT_EQ(attributes.words().size(), 20u);
  EXPECT_EQ(attributes.as<Many>().pairs[8].count, 7);
  EXPECT_EQ(attributes.as<Many>().last, 2.5);
  EXPECT_EQ(attributes, Attributes(many));
  many.pairs[8].count = 8;
  EXPECT_NE(attributes, Attributes(many));
}

}  // namespace
}  // namespace zero::graph
