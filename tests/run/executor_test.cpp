// Ranks: 1
#include "zero/run/executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <thread>

#include "tests/support/count_allocations.hpp"
#include "tests/support/hand_plan.hpp"
#include "tests/support/naive.hpp"
#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/base/error.hpp"

namespace zero::run {
namespace {

using namespace std::chrono_literals;
using plan::Kind;
using plan::kStep;
using plan::Lane;
using plan::Mode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

int threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return int(std::distance(begin(tasks), end(tasks)));
}

/// Two lanes: reduce makes `from`, compute copies it to `to` and must wait.
struct TwoLanes {
  testing::HandPlan hand;
  int32_t from = hand.keep("from", 8), to = hand.keep("to", 8);
  TwoLanes() {
    hand.clear(from, Lane::reduce);
    hand.accumulate(from, to, false).waits = {{Lane::reduce, 1}};
  }
};

TEST(Executor, accumulates_then_clears_in_the_order_of_the_plan) {
  testing::HandPlan hand;
  const int32_t from = hand.keep("from", 8), sum = hand.keep("sum", 8);
  hand.accumulate(from, sum, false);
  hand.accumulate(from, sum, true);
  hand.clear(from);
  Executor executor(hand.plan, {}, {});
  testing::fill(executor.buffers().values<float>(from), {1, 2});
  executor.run(kStep, {});
  EXPECT_THAT(executor.buffers().values<float>(sum), ElementsAre(2, 4));
  EXPECT_THAT(executor.buffers().values<float>(from), ElementsAre(0, 0));
}

TEST(Executor, copies_the_step_inputs_to_their_buffer) {
  testing::HandPlan hand;
  Executor executor(hand.plan, {}, {});
  kernels::StepInputs inputs{};
  inputs.step = 7;
  executor.run(kStep, inputs);
  EXPECT_EQ(executor.buffers().values<kernels::StepInputs>(hand.step_inputs())[0].step, 7);
}

TEST(Executor, what_other_lanes_do_after_the_last_op_of_compute_counts_as_its_wait) {
  testing::HandPlan hand;
  const int32_t own = hand.keep("own", 8), others = hand.keep("others", 8);
  hand.clear(own);
  hand.clear(others, Lane::reduce);
  Executor executor(hand.plan, {}, {});
  executor.set_op_hook([](Lane lane, const plan::PlanOp&) {
    if (lane == Lane::reduce) std::this_thread::sleep_for(50ms);
  });
  executor.run(kStep, {});
  EXPECT_GT(executor.times()[size_t(Lane::compute)].wait_seconds, 0.02);
}

TEST(Executor, a_lane_waits_for_the_op_it_names_on_another_lane) {
  TwoLanes lanes;
  Executor executor(lanes.hand.plan, {}, {});
  executor.set_op_hook([](Lane lane, const plan::PlanOp&) {
    if (lane == Lane::reduce) std::this_thread::sleep_for(50ms);
  });
  for (int repeat = 0; repeat < 3; ++repeat) {
    testing::fill(executor.buffers().values<float>(lanes.from), {5, 5});
    testing::fill(executor.buffers().values<float>(lanes.to), {9, 9});
    executor.run(kStep, {});
    EXPECT_THAT(executor.buffers().values<float>(lanes.to), ElementsAre(0, 0));
    EXPECT_GT(executor.times()[size_t(Lane::compute)].wait_seconds, 0.02);
    EXPECT_GT(executor.times()[size_t(Lane::reduce)].busy_seconds, 0.04);
  }
}

TEST(Executor, lanes_that_do_not_wait_run_at_the_same_time) {
  testing::HandPlan hand;
  hand.clear(hand.keep("a", 8), Lane::compute);
  hand.clear(hand.keep("b", 8), Lane::gather);
  Executor executor(hand.plan, {}, {});
  std::atomic<int> inside{0};
  executor.set_op_hook([&](Lane, const plan::PlanOp&) {
    ++inside;
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (inside < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_EQ(inside, 2);
  });
  executor.run(kStep, {});
}

TEST(Executor, starts_a_thread_for_each_lane_but_compute_that_has_ops) {
  testing::HandPlan one;
  one.clear(one.keep("a", 8));
  const int before = threads_of_process();
  {
    Executor executor(one.plan, {}, {});
    EXPECT_EQ(threads_of_process(), before);
  }
  TwoLanes lanes;
  {
    Executor executor(lanes.hand.plan, {}, {});
    EXPECT_EQ(threads_of_process(), before + 1);
  }
  EXPECT_EQ(threads_of_process(), before);
}

TEST(Executor, rethrows_an_error_of_another_lane_and_lets_nobody_wait_for_it) {
  TwoLanes lanes;
  Executor executor(lanes.hand.plan, {}, {});
  std::atomic<int> reports{0};
  executor.set_error_hook([&] { ++reports; });
  executor.set_op_hook([](Lane lane, const plan::PlanOp&) {
    if (lane == Lane::reduce) refuse(Exit::kIo, "no such peer");
  });
  testing::fill(executor.buffers().values<float>(lanes.to), {9, 9});
  EXPECT_THAT([&] { executor.run(kStep, {}); }, ThrowsMessage<Error>(HasSubstr("no such peer")));
  EXPECT_EQ(reports, 1);
  EXPECT_THAT(executor.buffers().values<float>(lanes.to), ElementsAre(9, 9));
  EXPECT_THAT([&] { executor.run(kStep, {}); }, ThrowsMessage<Error>(HasSubstr("failed before")));
}

TEST(Executor, an_error_of_the_compute_lane_ends_a_chain_of_waiting_lanes) {
  testing::HandPlan hand;
  const int32_t a = hand.keep("a", 8), b = hand.keep("b", 8), c = hand.keep("c", 8);
  hand.clear(a);
  hand.clear(b, Lane::gather).waits = {{Lane::compute, 1}};
  hand.clear(c, Lane::reduce).waits = {{Lane::gather, 1}};
  Executor executor(hand.plan, {}, {});
  executor.set_op_hook([](Lane lane, const plan::PlanOp&) {
    if (lane == Lane::compute) refuse(Exit::kNumerics, "lost");
  });
  testing::fill(executor.buffers().values<float>(c), {9, 9});
  EXPECT_THAT([&] { executor.run(kStep, {}); }, ThrowsMessage<Error>(HasSubstr("lost")));
  EXPECT_THAT(executor.buffers().values<float>(c), ElementsAre(9, 9));
}

TEST(Executor, tells_how_far_each_lane_is_and_how_long_each_kind_took) {
  TwoLanes lanes;
  Executor executor(lanes.hand.plan, {}, {});
  std::atomic<int32_t> seen{-2};
  executor.set_op_hook([&](Lane lane, const plan::PlanOp&) {
    if (lane == Lane::compute) seen = executor.progress()[size_t(lane)].running.load();
  });
  executor.run(kStep, {});
  executor.run(kStep, {});
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(executor.progress()[size_t(Lane::compute)].running, -1);
  EXPECT_EQ(executor.progress()[size_t(Lane::reduce)].finished, 2);
  ASSERT_EQ(executor.profile().size(), 2u);
  EXPECT_STREQ(executor.profile()[0].name, plan::name_of(Kind::clear)) << "as the plan has them";
  EXPECT_EQ(executor.profile()[1].calls, 2);
  executor.clear_profile();
  EXPECT_TRUE(executor.profile().empty());
}

TEST(Executor, clears_the_ranges_that_it_names_and_nothing_else) {
  testing::HandPlan hand;
  const int32_t bucket = hand.keep("bucket", 24);
  hand.op(Kind::clear, Lane::compute,
          {hand.part(bucket, 8, 4, Mode::write), hand.part(bucket, 16, 8, Mode::write)});
  Executor executor(hand.plan, {}, {});
  testing::fill(executor.buffers().values<float>(bucket), {1, 2, 3, 4, 5, 6});
  executor.run(kStep, {});
  EXPECT_THAT(executor.buffers().values<float>(bucket), ElementsAre(1, 2, 0, 4, 0, 0));
}

// A step with gradient 1, from zero momentum, with betas 0: every weight falls by the rate, 1;
// those that decay are first multiplied by 1 - 1 * 0.5.
TEST(Executor, adam_decays_the_parameters_that_decay_and_leaves_the_gaps_alone) {
  testing::HandPlan hand;
  hand.plan.request.weight_decay = 0.5f;
  hand.plan.graphs[0].parameters = {
      {.tensor = 0, .unit = 0, .decays = true, .init = graph::Init::zeros},
      {.tensor = 1, .unit = 0, .decays = false, .init = graph::Init::zeros}};
  hand.plan.units.push_back({.name = "u", .parameters = {{0, 0, 2}, {1, 3, 1}}, .numel = 4});
  const int32_t state = hand.keep("state", sizeof(kernels::StepState));
  const int32_t weight = hand.keep("weight", 16), gradient = hand.keep("gradient", 16);
  const int32_t momentum = hand.keep("momentum", 16), variance = hand.keep("variance", 16);
  hand.op(Kind::update, Lane::compute,
          {hand.whole(state, Mode::read),
           hand.whole(weight, Mode::update),
           {},
           hand.whole(momentum, Mode::update),
           hand.whole(variance, Mode::update),
           hand.whole(gradient, Mode::read)})
      .unit = 0;
  Rules rules;
  rules.optimizer.settings = {.betas = {0, 0}, .eps = 0};
  Executor executor(hand.plan, rules, {});
  kernels::StepState& decided = executor.buffers().values<kernels::StepState>(state)[0];
  decided.apply = 1;
  decided.grad_multiplier = decided.learning_rate = 1;
  decided.unbias1 = decided.unbias2_sqrt = 1;
  testing::fill(executor.buffers().values<float>(weight), {4, 6, 7, 8});
  testing::fill(executor.buffers().values<float>(gradient), {1, 1, 1, 1});
  executor.run(kStep, {});
  EXPECT_THAT(executor.buffers().values<float>(weight), ElementsAre(1, 2, 7, 7));
}

TEST(Executor, refuses_operands_that_leave_their_buffer_and_buffers_that_leave_the_arena) {
  testing::HandPlan hand;
  const int32_t a = hand.keep("a", 8);
  hand.op(Kind::clear, Lane::compute, {hand.part(a, 4, 4, Mode::write)});
  EXPECT_NO_THROW(Executor(hand.plan, {}, {}));
  hand.plan.bodies[kStep].ops[0].operands[0].bytes = 5;
  EXPECT_THAT([&] { Executor(hand.plan, {}, {}); },
              ThrowsMessage<Error>(HasSubstr("leaves buffer a")));
  hand.plan.bodies[kStep].ops[0].operands[0].bytes = 4;
  hand.plan.buffers[size_t(a)].offset = hand.plan.arena_bytes[0] - 4;
  EXPECT_THAT([&] { Executor(hand.plan, {}, {}); },
              ThrowsMessage<Error>(HasSubstr("leaves its arena")));
}

TEST(Executor, refuses_a_collective_without_a_communicator_and_a_wait_for_an_op_that_is_not_there) {
  testing::HandPlan hand;
  const int32_t words = hand.keep("words", 8);
  hand.op(Kind::all_reduce, Lane::small, {hand.whole(words, Mode::update)});
  EXPECT_THAT([&] { Executor(hand.plan, {}, {}); },
              ThrowsMessage<Error>(HasSubstr("no communicator")));
  const std::unique_ptr<comm::Communicator> self = comm::make_self();
  EXPECT_NO_THROW(Executor(hand.plan, {}, {nullptr, nullptr, nullptr, self.get()}));
  hand.clear(words).waits = {{Lane::small, 2}};
  EXPECT_THAT(
      [&] {
        Executor(hand.plan, {}, {nullptr, nullptr, nullptr, self.get()});
      },
      ThrowsMessage<Error>(HasSubstr("waits for op 2")));
}

TEST(Executor, refuses_to_run_a_body_that_the_plan_does_not_have) {
  testing::HandPlan hand;
  Executor executor(hand.plan, {}, {});
  EXPECT_THAT([&] { executor.run(plan::kEvaluate, {}); },
              ThrowsMessage<Error>(HasSubstr("no body")));
}

plan::Request tiny_request(Dtype compute, int ranks, int stage) {
  plan::Request request;
  request.compute = compute;
  request.ranks = ranks;
  request.stage = stage;
  request.micro_batches = 4 / ranks;
  request.weight_decay = 0.1f;
  request.reproducible = true;
  return request;
}

/// The tensors of a naive executor that one rank's plan holds at rest: copied before, compared
/// after.
struct NaiveTwin {
  const plan::Plan& plan;
  testing::ThreadRanks& ranks;
  NaiveExecutor naive{plan.graphs[0], 1};

  std::span<const std::byte> placed(int32_t buffer, const plan::UnitParameter& at) const {
    const size_t element = bytes_of(plan.request.compute);
    return ranks.bytes(0, buffer).subspan(size_t(at.begin) * element, size_t(at.numel) * element);
  }
  void copy(std::span<const std::byte> from, graph::TensorId to) {
    std::copy(from.begin(), from.end(), naive.bytes(to).begin());
  }
  void copy_in() {
    const graph::Graph& graph = plan.graphs[0];
    for (const plan::InputBuffer& input : plan.inputs) {
      if (input.graph != 0) continue;
      copy(ranks.bytes(0, input.buffer).first(size_t(input.bytes)), graph.input(input.name));
    }
    copy(ranks.bytes(0, plan.step_state), graph.step_state);
    std::fill(naive.bytes(graph.output(graph::kLossOutput)).begin(),
              naive.bytes(graph.output(graph::kLossOutput)).end(), std::byte{0});
    for (const plan::Unit& unit : plan.units) {
      for (const plan::UnitParameter& at : unit.parameters) {
        copy(placed(unit.weight, at), graph.parameters[size_t(at.parameter)].tensor);
      }
    }
  }
};

// Four micro-batches at stage 3 over lanes of their own, with every kernel of a GPT-2. The first
// step may still fill caches of the libraries.
TEST(Executor, allocates_nothing_while_it_trains) {
  testing::counting = true;
  ::operator delete(::operator new(1));
  testing::counting = false;
  EXPECT_EQ(testing::allocations, 1);
  for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const plan::Plan plan = testing::tiny_plan(tiny_request(compute, 1, 3));
    const std::unique_ptr<comm::Communicator> self = comm::make_self();
    Executor executor(plan, testing::tiny_rules(compute),
                      {nullptr, self.get(), self.get(), self.get()});
    executor.run(kStep, testing::tiny_inputs(plan, 1));
    executor.run(kStep, testing::tiny_inputs(plan, 2));
    testing::allocations = 0;
    testing::counting = true;
    const size_t growth = testing::least_heap_growth([&] {
      for (int step = 3; step <= 12; ++step) executor.run(kStep, testing::tiny_inputs(plan, step));
    });
    testing::counting = false;
    EXPECT_EQ(testing::allocations, 0) << name_of(compute);
    EXPECT_EQ(growth, 0) << name_of(compute);
  }
}

// The first step has no update before it, so both start from the same weights.
TEST(Executor, computes_loss_and_gradients_of_the_naive_executor_bit_for_bit) {
  for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    plan::Request request = tiny_request(compute, 1, 0);
    request.micro_batches = 1;
    const plan::Plan plan = testing::tiny_plan(request);
    testing::ThreadRanks ranks(plan, testing::tiny_rules(compute));
    testing::fill_states(ranks, plan, testing::tiny_rules(compute));
    testing::fill_batch(ranks, plan, 0);
    ranks.run(kStep, testing::tiny_inputs(plan, 1));
    NaiveTwin twin{plan, ranks};
    twin.copy_in();
    twin.naive.run(0);
    const graph::Graph& graph = plan.graphs[0];
    EXPECT_EQ(
        twin.naive.values<kernels::StepSums>(graph.output(graph::kLossOutput))[0].loss.value(),
        ranks.view<kernels::StepSums>(0, plan.step_sums())->loss.value());
    for (const plan::Unit& unit : plan.units) {
      for (const plan::UnitParameter& at : unit.parameters) {
        const graph::Parameter& parameter = graph.parameters[size_t(at.parameter)];
        EXPECT_TRUE(std::ranges::equal(twin.placed(unit.gradient, at),
                                       twin.naive.bytes(parameter.gradient)))
            << name_of(compute) << " " << graph[parameter.tensor].name;
      }
    }
  }
}

TEST(Executor, every_stage_and_rank_count_computes_the_same_bits) {
  for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    std::optional<testing::Outcome> first;
    for (int ranks : {1, 2, 4}) {
      for (int stage = 0; stage <= 3; ++stage) {
        SCOPED_TRACE(text(name_of(compute), ", ", ranks, " ranks, stage ", stage));
        const plan::Plan plan = testing::tiny_plan(tiny_request(compute, ranks, stage));
        testing::ThreadRanks machine(plan, testing::tiny_rules(compute));
        const testing::Outcome outcome = testing::train(machine, plan, 3);
        if (!first) first = outcome;
        EXPECT_TRUE(outcome.sums == first->sums);
        EXPECT_TRUE(outcome.decided == first->decided);
        EXPECT_TRUE(outcome.state == first->state);
        EXPECT_TRUE(testing::padding_is_zero(machine, plan));
      }
    }
  }
}

// The test above compares what does change: other samples are another loss and another state.
TEST(Executor, other_samples_give_other_bits) {
  plan::Request request = tiny_request(Dtype::f32, 1, 0);
  const plan::Plan four = testing::tiny_plan(request);
  request.micro_batches = 2;
  const plan::Plan two = testing::tiny_plan(request);
  testing::ThreadRanks machine_four(four, testing::tiny_rules(Dtype::f32));
  testing::ThreadRanks machine_two(two, testing::tiny_rules(Dtype::f32));
  const testing::Outcome a = testing::train(machine_four, four, 2);
  const testing::Outcome b = testing::train(machine_two, two, 2);
  EXPECT_FALSE(a.sums == b.sums);
  EXPECT_FALSE(a.state == b.state);
  const kernels::StepReport& report =
      machine_four.view<kernels::StepState>(0, four.step_state)->report;
  EXPECT_EQ(report.skipped, 0);
  EXPECT_NEAR(report.loss, std::log(61), 0.2);
}

}  // namespace
}  // namespace zero::run
