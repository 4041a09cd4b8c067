// Ranks: 1

#include "src/run/rehearsal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/run/rank_buffers.hpp"
#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/graph/operations.hpp"

namespace zero::run {
namespace {

/// The compute ops of a tiny model as a rank binds them, in arenas that hold nothing.
struct Bound {
  plan::Plan plan;
  Rules rules;
  RankBuffers buffers;
  std::vector<BoundOp> ops;

  explicit Bound(const plan::Request& request, bool fused = false)
      : plan(testing::tiny_plan(request, {.fused = fused})),
        rules(testing::tiny_rules(request.compute)),
        buffers(plan, 0, {}, {}) {
    const ChosenForms forms(plan);
    for (const plan::Body& body : plan.bodies) {
      for (const plan::PlanOp& op : body.ops) {
        if (op.kind == plan::Kind::compute)
          ops.push_back(bind({plan, rules, buffers.memory(), &forms}, body, op));
      }
    }
  }
  const graph::Op& graph_op(const BoundOp& op) const {
    return op.graph->ops[size_t(op.op->graph_op)];
  }
};

plan::Request request_of(Dtype compute, int micro_batches = 1) {
  plan::Request request;
  request.compute = compute;
  request.micro_batches = micro_batches;
  return request;
}

TEST(Rehearsal, RunsOneOpOfEachKindAndShapeWhoseLibraryChooses) {
  Bound bound(request_of(Dtype::bf16, 3));
  Stream stream(1);
  Rehearsal rehearsal(stream);
  std::vector<const BoundOp*> ran;
  for (const BoundOp& op : bound.ops) {
    const int before = rehearsal.calls();
    rehearsal.run(op);
    if (rehearsal.calls() > before) ran.push_back(&op);
  }
  const auto runs_of = [&](graph::OpKind kind) {
    return std::ranges::count_if(
        ran, [&](const BoundOp* op) { return bound.graph_op(*op).kind == kind; });
  };
  // A block has four linear layers. Both blocks have the same shapes, and so have micro-batches.
  EXPECT_EQ(runs_of(&graph::kLinear), 4);
  EXPECT_EQ(runs_of(&graph::kLinearInputGrad), 4);
  EXPECT_EQ(runs_of(&graph::kLinearWeightGrad), 4);
  EXPECT_EQ(runs_of(&graph::kClassifier), 1);
  EXPECT_GE(runs_of(&graph::kClassifierGrad), 1);
  EXPECT_LT(ran.size(), bound.ops.size() / 8);
  EXPECT_EQ(runs_of(&graph::kAttention) + runs_of(&graph::kAttentionGrad), 0);
  for (const BoundOp& op : bound.ops) rehearsal.run(op);
  EXPECT_EQ(size_t(rehearsal.calls()), ran.size());
}

TEST(Rehearsal, KnowsTheKindsOfFusedProductsToo) {
  Bound bound(request_of(Dtype::bf16), true);
  Stream stream(1);
  Rehearsal rehearsal(stream);
  for (const BoundOp& op : bound.ops) rehearsal.run(op);
  // 14 of training, and the two sums with a residual that products of an evaluation make.
  EXPECT_EQ(rehearsal.calls(), 16);
}

/// Zeros would be multiplied at a higher clock.
TEST(Rehearsal, MultipliesNoise) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    Bound bound(request_of(compute));
    Stream stream(1);
    Rehearsal rehearsal(stream);
    for (const BoundOp& op : bound.ops) {
      const graph::Op& graph_op = bound.graph_op(op);
      if (graph_op.kind != &graph::kLinear) continue;
      rehearsal.run(op);
      stream.wait();
      const size_t y = graph_op.inputs.size();
      const auto* const bytes = op.operand<const uint8_t>(y);
      const int64_t count = (*op.graph)[graph_op.outputs[0]].bytes();
      EXPECT_GT(std::count_if(bytes, bytes + count, [](uint8_t b) { return b != 0; }), count / 2);
      break;
    }
  }
}

}  // namespace
}  // namespace zero::run
