// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "src/compile/passes.hpp"
#include "src/plan/verify_parts.hpp"
#include "tests/support/hand_plan.hpp"
#include "tests/support/tiny_plans.hpp"
#include "zero/base/error.hpp"
#include "zero/compile/compile.hpp"
#include "zero/graph/operation.hpp"

namespace zero::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

testing::TinyModel of_length(testing::TinyModel model, int64_t length) {
  model.micro.length = length;
  return model;
}

/// Texts of 3 and 5 tokens in a plan of `model`'s 8.
std::array<std::vector<graph::Graph>, 2> shorter_of(const testing::TinyModel& model,
                                                    const Request& request) {
  std::array<std::vector<graph::Graph>, 2> shorter;
  for (const int64_t length : {3, 5}) {
    const testing::TinyModel form = of_length(model, length);
    shorter[0].push_back(testing::tiny_training_graph(form, request.compute));
    if (!model.evaluates) continue;
    shorter[1].push_back(testing::tiny_evaluation_graph(form, request.compute));
  }
  return shorter;
}

Plan plan_with_forms(const Request& request, const testing::TinyModel& model = {}) {
  Plan plan = testing::tiny_plan(request, model);
  add_forms(plan, shorter_of(model, request));
  return plan;
}

Request request_of(int stage, int ranks, int micro_batches) {
  return {.stage = stage, .ranks = ranks, .micro_batches = micro_batches};
}

TEST(Forms, AreProvedInFortyCompiledPlans) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const testing::TinyModel model = testing::random_model(seed);
    const Request request = testing::random_request(seed);
    if (model.micro.length != 8) continue;
    EXPECT_THAT(verify(plan_with_forms(request, model)), IsEmpty());
  }
}

TEST(Forms, ChangeNothingButTheHash) {
  const Request request = request_of(3, 2, 4);
  const Plan plain = testing::tiny_plan(request);
  Plan plan = plan_with_forms(request);
  EXPECT_NE(plan.hash(), plain.hash());
  plan.shorter = {};
  EXPECT_EQ(plan.hash(), plain.hash());
}

TEST(FormPairs, AreAllOrderedPairsWhereMicroBatchesFollowEachOther) {
  const Plan plan = plan_with_forms(request_of(0, 1, 4));
  EXPECT_EQ(form_pairs(plan, plan.bodies[kStep]).size(), 9u);
  EXPECT_EQ(form_pairs(plan, plan.bodies[kStep])[0].even, 2u) << "the longest comes first";
  EXPECT_EQ(form_pairs(plan, plan.bodies[kEvaluate]).size(), 3u);
  EXPECT_EQ(form_pairs(plan, plan.bodies[kFinish]).size(), 1u);
  const Plan single = plan_with_forms(request_of(0, 1, 1));
  EXPECT_EQ(form_pairs(single, single.bodies[kStep]).size(), 3u);
}

TEST(OperandsInForm, AreTheRowsOfTheForm) {
  const Plan plan = plan_with_forms(request_of(0, 1, 1));
  const Body& body = plan.bodies[kStep];
  for (const PlanOp& op : body.ops) {
    if (op.kind != Kind::compute) continue;
    const graph::Op& made = plan.graphs[0].ops[size_t(op.graph_op)];
    if (made.kind->name != "gelu") continue;
    const std::vector<Operand> longest = operands_in_form(plan, body, op, 2);
    const std::vector<Operand> shorter = operands_in_form(plan, body, op, 1);
    EXPECT_EQ(shorter[0].bytes * 8, longest[0].bytes * 5);
    EXPECT_EQ(shorter[0].offset, longest[0].offset);
    return;
  }
  FAIL() << "no GELU";
}

/// What verify says when `fault` has been done to the form of 5 tokens.
std::string said_of(const std::function<void(graph::Graph&)>& fault) {
  Plan plan = plan_with_forms(request_of(3, 2, 2));
  fault(plan.shorter[0][1]);
  const std::vector<std::string> findings = verify(plan);
  return findings.empty() ? "nothing" : findings.front();
}

graph::Tensor& first_of(graph::Graph& graph, graph::Role role) {
  for (graph::Tensor& tensor : graph.tensors) {
    if (tensor.role == role) return tensor;
  }
  ZERO_REQUIRE(false, "no such tensor");
}

TEST(VerifyForms, FindsAFormThatLacksAnOp) {
  EXPECT_THAT(said_of([](graph::Graph& graph) { graph.ops.pop_back(); }),
              HasSubstr("the longest form has"));
}

TEST(VerifyForms, FindsAFormWithOtherOpsOrOperands) {
  EXPECT_THAT(said_of([](graph::Graph& graph) { std::swap(graph.ops[1], graph.ops[2]); }),
              HasSubstr("is not that of the longest form"));
  EXPECT_THAT(said_of([](graph::Graph& graph) { graph.ops[1].unit += 1; }),
              HasSubstr("is not that of the longest form"));
  EXPECT_THAT(said_of([](graph::Graph& graph) { graph.samples += 1; }), HasSubstr("samples"));
}

TEST(VerifyForms, FindsAFormThatReachesOutsideThePlacesOfTheLongest) {
  const auto lengthen = [](graph::Graph& graph) {
    first_of(graph, graph::Role::activation).shape[0] = 9;
  };
  EXPECT_THAT(said_of(lengthen), HasSubstr("bytes where the longest form has"));
}

TEST(VerifyForms, FindsAFormWhoseCollectivesWouldDiffer) {
  for (const graph::Role role : {graph::Role::parameter, graph::Role::gradient}) {
    EXPECT_THAT(said_of([=](graph::Graph& graph) { first_of(graph, role).shape[0] -= 1; }),
                HasSubstr("all that ranks send"));
  }
}

TEST(VerifyForms, FindsAFormThatTrainsOtherElements) {
  EXPECT_THAT(said_of([](graph::Graph& graph) { graph.parameters[0].frozen = true; }),
              HasSubstr("other tensors, parameters"));
  EXPECT_THAT(said_of([](graph::Graph& graph) { graph.parameters[0].real_numel -= 1; }),
              HasSubstr("other tensors, parameters"));
}

/// Copies to another tier are of the longest form's bytes, which a shorter one has not written.
TEST(VerifyForms, FindsABodyThatReadsMoreThanAFormHasWritten) {
  Request request = request_of(1, 2, 2);
  request.activation_home = Tier::host;
  testing::TinyModel model;
  model.gpt2.layers = 4;
  model.recompute = graph::Recompute::full;
  Plan plan = testing::tiny_plan(request, model);
  ASSERT_TRUE(testing::moves_activations(plan));
  EXPECT_THROW(add_forms(plan, shorter_of(model, request)), Error);
  plan.shorter = shorter_of(model, request);
  const std::vector<std::string> findings = verify(plan);
  ASSERT_GE(findings.size(), 2u);
  EXPECT_THAT(findings[0], HasSubstr("forms 0 and 0 in turn"));
  EXPECT_THAT(findings[1], HasSubstr("d2h lane"));
}

int64_t row_of_words(const graph::Graph& graph, const graph::Op&, int) { return 4 * graph.length; }
constexpr graph::Operation kKeepsARow{.name = "keeps_a_row", .scratch_bytes = row_of_words};

/// Two micro-batches, of which the second reads the scratch that the first has written.
Plan plan_that_hands_on_scratch() {
  testing::HandPlan made;
  Plan& plan = made.plan;
  plan.request.micro_batches = 2;
  graph::Op keeps_a_row;
  keeps_a_row.kind = &kKeepsARow;
  plan.graphs[0].ops = {keeps_a_row};
  plan.graphs[0].samples = 1;
  plan.graphs[0].length = 8;
  const int32_t row = made.transient("row", 32);
  for (const Mode mode : {Mode::write, Mode::read}) {
    PlanOp& op = made.op(Kind::compute, Lane::compute, {made.whole(row, mode)});
    op.graph_op = 0;
    op.micro = mode == Mode::read;
  }
  number_lanes(plan.bodies[kStep]);
  return plan;
}

TEST(VerifyForms, FindsWhatIsWrongOnlyWhereALongFormFollowsAShortOne) {
  Plan plan = plan_that_hands_on_scratch();
  EXPECT_THAT(verify(plan), IsEmpty());
  plan.shorter[0] = {plan.graphs[0]};
  EXPECT_THAT(verify(plan), IsEmpty());
  plan.shorter[0][0].length = 3;
  const std::vector<std::string> findings = verify(plan);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_THAT(findings[0], HasSubstr("forms 0 and 1 in turn"));
  EXPECT_THAT(findings[1], HasSubstr("reads row where nothing lies"));
}

}  // namespace
}  // namespace zero::plan
