// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "src/run/bound_op.hpp"
#include "tests/support/hand_plan.hpp"
#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/product.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {
namespace {

TEST(Bind, RefusesTooFewOperandsAndOperandsThatDifferInSize) {
  testing::HandPlan hand;
  const int32_t a = hand.keep("a", 8), first = hand.step_inputs();
  hand.op(plan::Kind::copy, plan::Lane::compute,
          {hand.whole(a, plan::Mode::read), hand.part(first, 0, 8, plan::Mode::write)});
  EXPECT_NO_THROW(Executor(hand.plan, {}, {}));
  plan::PlanOp& copy = hand.plan.bodies[plan::kStep].ops[0];
  copy.operands[1].bytes = 4;
  EXPECT_THAT(
      [&] { Executor(hand.plan, {}, {}); },
      ::testing::ThrowsMessage<Error>(::testing::HasSubstr("operand 1 has 4 bytes, not 8")));
  copy.operands.pop_back();
  EXPECT_THAT([&] { Executor(hand.plan, {}, {}); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("has 1 operands, not 2")));
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
