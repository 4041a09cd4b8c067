// Ranks: 1

#include "zero/run/op_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/support/tiny_graph.hpp"
#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/graph/differentiate.hpp"
#include "zero/graph/fuse.hpp"
#include "zero/kernels/product.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {
namespace {

using graph::OpKind;

TEST(OpCall, HandsOperandsToTheKernelOfTheOpsKindAndDtype) {
  const graph::Graph graph = graph::tiny_forward(1, 0.0f, Dtype::bf16);
  const graph::Op& op = graph::first(graph, OpKind::dropout_add);
  std::vector<bf16> x(24, bf16(1.5f)), residual(24, bf16(2.0f)), y(24, bf16(0.0f));
  std::vector<std::byte> inputs(size_t(graph[graph.step_inputs].bytes()));
  void* operands[] = {x.data(), residual.data(), inputs.data(), y.data()};
  Stream stream(1);
  call(stream, {.graph = &graph, .op = &op, .operands = operands});
  stream.wait();
  for (bf16 value : y) EXPECT_EQ(float(value), 3.5f);
}

TEST(OpCall, AddsWhereAnActivationHadTwoUses) {
  graph::Graph graph = graph::tiny_forward(0, 0.0f);
  const graph::TensorId x = graph::first(graph, OpKind::embedding).outputs[0];
  const graph::Op op{.kind = OpKind::add, .inputs = {x, x}, .outputs = {x}};
  std::vector<float> a(24, 1.0f), b(24, 2.0f), sum(24);
  void* operands[] = {a.data(), b.data(), sum.data()};
  Stream stream(1);
  call(stream, {.graph = &graph, .op = &op, .operands = operands});
  stream.wait();
  for (float value : sum) EXPECT_EQ(value, 3.0f);
}

TEST(OpCall, RefusesAWrongNumberOfOperands) {
  const graph::Graph graph = graph::tiny_forward(1, 0.0f);
  const graph::Op& op = graph::first(graph, OpKind::gelu);
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
  const graph::Graph plain = graph::differentiate(graph::tiny_forward(1, 0.0f, Dtype::bf16));
  for (const graph::Graph& graph : {plain, graph::fuse(plain)}) {
    const bool fused = kinds(graph) != kinds(plain);
    const graph::Op& op =
        graph::first(graph, fused ? OpKind::linear_parameter_grad : OpKind::linear_weight_grad);
    // x and dy have 6 rows: 6 x 2 x 0.5.
    const auto numel = [&](graph::TensorId tensor) { return size_t(graph[tensor].shape.numel()); };
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
                    .scratch = scratch.data(),
                    .sums = true,
                    .add = add});
    }
    stream.wait();
    for (float value : sum) EXPECT_EQ(value, 3 * 6.0f);
    for (bf16 value : bias) EXPECT_EQ(float(value), fused ? 3.0f : 0.0f);
  }
}

TEST(OpCall, RefusesASumOfWhatNoProductAdds) {
  const graph::Graph graph = graph::tiny_forward(1, 0.0f);
  const graph::Op& op = graph::first(graph, OpKind::gelu);
  std::vector<float> x(24), y(24);
  void* operands[] = {x.data(), y.data()};
  Stream stream(1);
  EXPECT_THROW(call(stream, {.graph = &graph, .op = &op, .operands = operands, .sums = true}),
               Error);
}

// A library may be refused memory for its code, which is then said before the first step. On a
// thread of its own, for which nothing has been made yet.
TEST(Prepare, MakesAllKernelsOfProductsBeforeTheFirstStep) {
  const bool makes = std::string(kernels::product_library()).starts_with("oneDNN");
  for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    plan::Request request;
    request.compute = compute;
    request.micro_batches = 3;
    std::thread([&] {
      const plan::Plan plan = testing::tiny_plan(request);
      const std::unique_ptr<comm::Communicator> self = comm::make_self();
      Executor executor(plan, testing::tiny_rules(compute),
                        {nullptr, self.get(), self.get(), self.get()});
      const int64_t made = kernels::products_made();
      EXPECT_EQ(made > 0, makes) << name_of(compute);
      executor.run(plan::kStep, testing::tiny_inputs(plan, 1));
      EXPECT_EQ(kernels::products_made(), made) << name_of(compute);
    }).join();
  }
}

}  // namespace
}  // namespace zero::run
