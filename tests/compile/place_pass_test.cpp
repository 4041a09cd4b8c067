// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/tiny_graph.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/base/align.hpp"
#include "zero/compile/compile.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Rows that are turned by a table of `positions` and one frequency.
graph::Graph turned(double frequency, int64_t positions = 4, int64_t length = 4) {
  graph::GraphBuilder out({.samples = 1, .length = length}, Dtype::f32);
  out.unit("only");
  const graph::TensorId table = out.parameter({.name = "table", .shape = {5, 6}});
  const graph::TensorId x = embedding(out, tiny_ids(out, "tokens"), table);
  const graph::TensorId angles =
      rotary_table(out, {.frequencies = {frequency}, .positions = positions});
  const graph::TensorId y =
      rotate(out, x, {.packed = {.heads = 1, .key_heads = 1}, .table = angles});
  classifier(out, y, table, tiny_ids(out, "targets"), 5, 3);
  return out.finish();
}

Plan plan_of(const graph::Graph& training, const graph::Graph& evaluation) {
  return compile({}, graph::differentiate(training), evaluation);
}

TEST(Constants, OfTrainingAndEvaluationAreOneBufferIfTheyAreEqual) {
  const Plan same = plan_of(turned(1), turned(1));
  ASSERT_EQ(same.constants.size(), 2u);
  EXPECT_EQ(same.constants[0].buffer, same.constants[1].buffer);
  const Plan other = plan_of(turned(1), turned(2));
  EXPECT_NE(other.constants[0].buffer, other.constants[1].buffer);
  EXPECT_EQ(forecast(same, {}).bytes[0][size_t(Use::constants)], kExtentAlignBytes);
  EXPECT_THAT(verify(same), IsEmpty());
}

TEST(Constants, AreComparedByRanks) {
  EXPECT_EQ(plan_of(turned(1), turned(1)).hash(), plan_of(turned(1), turned(1)).hash());
  EXPECT_NE(plan_of(turned(1), turned(1)).hash(), plan_of(turned(2), turned(2)).hash());
}

TEST(Constants, AreInMemoryBeforeABodyRuns) {
  const Plan plan = plan_of(turned(1), turned(2));
  testing::ThreadRanks machine(plan, testing::tiny_rules(Dtype::f32));
  testing::RandomRanks other(plan, testing::tiny_rules(Dtype::f32), {});
  for (const ConstantBuffer& constant : plan.constants) {
    const auto& values =
        *plan.graphs[size_t(constant.graph)].constants[size_t(constant.index)].values;
    for (testing::Machine* held :
         {static_cast<testing::Machine*>(&machine), static_cast<testing::Machine*>(&other)}) {
      const std::span<std::byte> bytes = held->bytes(0, constant.buffer);
      ASSERT_EQ(bytes.size(), values.size() * sizeof(float));
      EXPECT_EQ(std::memcmp(bytes.data(), values.data(), bytes.size()), 0);
    }
  }
}

TEST(Constants, AreWrittenByNoOp) {
  Plan plan = plan_of(turned(1), turned(1));
  for (PlanOp& op : plan.bodies[kStep].ops) {
    for (Operand& operand : op.operands) {
      if (operand.buffer == plan.constants[0].buffer) operand.mode = Mode::update;
    }
  }
  EXPECT_THAT(verify(plan), Contains(HasSubstr("writes rotary.0, a constant")));
}

/// The plan of 4 tokens with a form of 2, whose table has `positions`.
Plan with_form(double frequency, int64_t positions) {
  Plan plan = plan_of(turned(1), turned(1));
  add_forms(plan, {{{graph::differentiate(turned(frequency, positions, 2))},
                    {turned(frequency, positions, 2)}}});
  return plan;
}

TEST(Constants, OfAFormAreTheFrontOfTheLongest) {
  EXPECT_THAT(verify(with_form(1, 4)), IsEmpty());
  EXPECT_THAT(verify(with_form(1, 2)), IsEmpty());
  EXPECT_ANY_THROW(with_form(1, 5));
  EXPECT_ANY_THROW(with_form(2, 4));
}

}  // namespace
}  // namespace zero::plan
