// Ranks: 1
#include "tests/support/random_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

#include "src/compile/passes.hpp"
#include "src/model/gpt2.hpp"
#include "tests/support/arrays.hpp"
#include "tests/support/chunk_rows.hpp"
#include "tests/support/hand_plan.hpp"
#include "tests/support/one_outcome.hpp"
#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/base/error.hpp"
#include "zero/compile/compile.hpp"

namespace zero::run {
namespace {

using plan::Kind;
using plan::kStep;
using plan::Lane;
using plan::Mode;
using ::testing::ElementsAre;
using testing::expect_same;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

template <class T>
std::span<T> values(RandomOrderExecutor& executor, int rank, int32_t buffer) {
  const std::span<std::byte> raw = executor.bytes(rank, buffer);
  return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
}

/// The reduce lane clears `from` while compute copies it to `to`.
struct Race {
  testing::HandPlan hand;
  int32_t from = hand.keep("from", 4), to = hand.keep("to", 4);
  Race() {
    hand.clear(from, Lane::reduce);
    hand.accumulate(from, to, false);
  }
  float outcome(uint64_t seed) const {
    RandomOrderExecutor executor(hand.plan, {}, {.seed = seed});
    testing::fill(values<float>(executor, 0, from), {5});
    executor.run(kStep, {});
    return values<float>(executor, 0, to)[0];
  }
  std::set<float> outcomes() const {
    std::set<float> seen;
    for (uint64_t seed = 0; seed < 20; ++seed) seen.insert(outcome(seed));
    return seen;
  }
};

TEST(RandomOrder, shows_a_race_in_both_orders_and_none_once_a_wait_orders_it) {
  Race race;
  EXPECT_THAT(race.outcomes(), ElementsAre(0, 5));
  race.hand.plan.bodies[kStep].ops[1].waits = {{Lane::reduce, 1}};
  EXPECT_THAT(race.outcomes(), ElementsAre(0));
}

TEST(RandomOrder, takes_the_same_order_for_the_same_seed) {
  const Race race;
  for (uint64_t seed = 0; seed < 8; ++seed) EXPECT_EQ(race.outcome(seed), race.outcome(seed));
}

TEST(RandomOrder, refuses_waits_that_form_a_cycle) {
  Race race;
  race.hand.plan.bodies[kStep].ops[0].waits = {{Lane::compute, 1}};
  race.hand.plan.bodies[kStep].ops[1].waits = {{Lane::reduce, 1}};
  EXPECT_THAT([&] { race.outcome(0); }, ThrowsMessage<Error>(HasSubstr("cycle")));
}

TEST(RandomOrder, a_transient_buffer_is_not_a_number_before_it_is_written) {
  testing::HandPlan hand;
  const int32_t from = hand.transient("from", 8), to = hand.keep("to", 8);
  hand.accumulate(from, to, false);
  RandomOrderExecutor executor(hand.plan, {}, {});
  testing::fill(values<float>(executor, 0, from), {1, 2});
  executor.run(kStep, {});
  EXPECT_TRUE(std::isnan(values<float>(executor, 0, to)[0]));
  EXPECT_TRUE(std::isnan(values<float>(executor, 0, to)[1]));
}

// `late` shares its bytes with `early` and is read without being written: what `early` held is
// gone.
TEST(RandomOrder, nothing_of_a_transient_buffer_is_left_after_its_last_use) {
  testing::HandPlan hand;
  const int32_t one = hand.keep("one", 4), to = hand.keep("to", 4);
  const int32_t early = hand.transient("early", 4);
  hand.accumulate(one, early, false);
  hand.accumulate(early, to, false);
  RandomOrderExecutor executor(hand.plan, {}, {});
  testing::fill(values<float>(executor, 0, one), {1});
  executor.run(kStep, {});
  EXPECT_EQ(values<float>(executor, 0, to)[0], 1);
  EXPECT_EQ(values<uint32_t>(executor, 0, early)[0], 0xFFFFFFFFu);
  EXPECT_EQ(values<float>(executor, 0, one)[0], 1);
}

TEST(RandomOrder, exact_copies_change_no_result_of_an_op_that_declares_what_it_does) {
  testing::HandPlan hand;
  const int32_t from = hand.keep("from", 8), sum = hand.keep("sum", 8);
  hand.accumulate(from, sum, true);
  RandomOrderExecutor executor(hand.plan, {}, {.exact_copies = true});
  testing::fill(values<float>(executor, 0, from), {1, 2});
  testing::fill(values<float>(executor, 0, sum), {10, 20});
  executor.run(kStep, {});
  EXPECT_THAT(values<float>(executor, 0, sum), ElementsAre(11, 22));
  EXPECT_THAT(values<float>(executor, 0, from), ElementsAre(1, 2));
}

TEST(RandomOrder, exact_copies_show_an_op_that_reads_what_it_said_it_only_writes) {
  testing::HandPlan hand;
  const int32_t from = hand.keep("from", 4), sum = hand.keep("sum", 4);
  hand.accumulate(from, sum, true).operands[1].mode = Mode::write;
  RandomOrderExecutor plain(hand.plan, {}, {}), exact(hand.plan, {}, {.exact_copies = true});
  plain.run(kStep, {});
  exact.run(kStep, {});
  EXPECT_EQ(values<float>(plain, 0, sum)[0], 0);
  EXPECT_TRUE(std::isnan(values<float>(exact, 0, sum)[0]));
}

TEST(RandomOrder, exact_copies_do_not_bring_back_what_an_op_said_it_only_reads) {
  testing::HandPlan hand;
  const int32_t a = hand.keep("a", 4);
  hand.clear(a).operands[0].mode = Mode::read;
  RandomOrderExecutor executor(hand.plan, {}, {.exact_copies = true});
  testing::fill(values<float>(executor, 0, a), {5});
  executor.run(kStep, {});
  EXPECT_EQ(values<float>(executor, 0, a)[0], 5);
}

plan::Operand own_shard(int32_t buffer, int64_t bytes, Mode mode) {
  return {.buffer = buffer, .bytes = bytes, .mode = mode, .sharded = true};
}

/// Over two ranks: each reduces [0, 1] of its own shard of `full` in place, in one piece or two,
/// and gathers the shards again; and adds a word.
testing::HandPlan collectives(int64_t piece_numel) {
  testing::HandPlan hand(2);
  const int32_t full = hand.keep("full", 16), words = hand.keep("words", 8);
  for (Kind kind : {Kind::reduce_scatter, Kind::all_gather}) {
    const bool gather = kind == Kind::all_gather;
    for (int64_t begin = 0; begin < 2; begin += piece_numel) {
      plan::PlanOp& op = hand.op(kind, Lane::reduce, {});
      op.shard_numel = 2, op.piece_begin = begin, op.piece_numel = piece_numel;
      op.operands = {hand.whole(full, Mode::read), own_shard(full, 8, Mode::update), {}};
      if (gather) op.operands = {own_shard(full, 8, Mode::read), hand.whole(full, Mode::update)};
    }
  }
  hand.op(Kind::all_reduce, Lane::small, {hand.whole(words, Mode::update)});
  return hand;
}

TEST(RandomOrder, collectives_add_and_gather_over_all_ranks_whole_or_in_pieces) {
  for (int64_t piece_numel : {1, 2}) {
    for (bool exact : {false, true}) {
      const testing::HandPlan hand = collectives(piece_numel);
      RandomOrderExecutor executor(hand.plan, {}, {.seed = 3, .exact_copies = exact});
      testing::fill(values<float>(executor, 0, 1), {1, 2, 3, 4});
      testing::fill(values<float>(executor, 1, 1), {10, 20, 30, 40});
      values<int64_t>(executor, 0, 2)[0] = 5;
      values<int64_t>(executor, 1, 2)[0] = -7;
      executor.run(kStep, {});
      for (int rank : {0, 1}) {
        EXPECT_THAT(values<float>(executor, rank, 1), ElementsAre(11, 22, 33, 44));
        EXPECT_THAT(values<int64_t>(executor, rank, 2), ElementsAre(-2));
      }
    }
  }
}

TEST(RandomOrder, any_order_of_a_compiled_plan_computes_the_bits_of_the_executor) {
  for (int stage = 0; stage <= 3; ++stage) {
    plan::Request request{.stage = stage, .ranks = 2, .micro_batches = 2};
    request.reduce_bucket_numel = request.gather_bucket_numel = 6000;
    const plan::Plan plan = testing::tiny_plan(request);
    const Rules rules = testing::tiny_rules(Dtype::f32);
    testing::ThreadRanks threads(plan, rules);
    const testing::Outcome expected = testing::train(threads, plan, 2);
    for (uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(text("stage ", stage, ", seed ", seed));
      testing::RandomRanks random(plan, rules, {.seed = seed, .exact_copies = seed % 2 == 1});
      expect_same(testing::train(random, plan, 2), expected);
      EXPECT_TRUE(testing::padding_is_zero(random, plan));
    }
  }
}

/// ZERO_TEST_PLANS draws more; tests/campaigns.txt does, under the address sanitizer.
uint64_t plans_to_draw() {
  const char* const wanted = std::getenv("ZERO_TEST_PLANS");
  return wanted == nullptr ? 12 : std::strtoull(wanted, nullptr, 10);
}

void expect_any_order_computes_the_same(const plan::Request& request, uint64_t seed) {
  const plan::Plan plan = testing::tiny_plan(request, testing::random_model(seed));
  const Rules rules = testing::tiny_rules(request.compute);
  testing::ThreadRanks threads(plan, rules);
  const testing::Outcome expected = testing::train(threads, plan, 2);
  for (bool exact : {false, true}) {
    testing::RandomRanks random(plan, rules, {.seed = seed, .exact_copies = exact});
    expect_same(testing::train(random, plan, 2), expected);
  }
}

// Stages, ranks, accumulation, precision, optimizer, buckets, prefetch and recompute by lot.
TEST(RandomOrder, any_order_of_plans_drawn_by_lot_computes_the_bits_of_the_executor) {
  for (uint64_t seed = 0; seed < plans_to_draw(); ++seed) {
    SCOPED_TRACE(seed);
    expect_any_order_computes_the_same(testing::random_request(seed), seed);
  }
}

TEST(RandomOrder, any_order_of_plans_over_all_tiers_computes_the_bits_of_the_executor) {
  int moved = 0;
  for (uint64_t seed = 0; seed < plans_to_draw(); ++seed) {
    SCOPED_TRACE(seed);
    const plan::Request request = testing::random_tiered_request(seed);
    expect_any_order_computes_the_same(request, seed);
    moved += testing::moves_activations(testing::tiny_plan(request, testing::random_model(seed)));
  }
  EXPECT_GT(moved, 0);
}

/// As plan::compile() makes it, but with every micro-batch written out.
plan::Plan plan_in_full(const plan::Request& request, const testing::TinyModel& model) {
  plan::Plan plan{.request = request,
                  .graphs = {testing::tiny_training_graph(model, request.compute),
                             testing::tiny_evaluation_graph(model, request.compute)}};
  plan.units = plan::lay_out_units(plan.graphs[0], request.groups());
  plan::place_states(plan);
  plan::place_copies(plan);
  plan::write_step_in_full(plan);
  plan::write_finish(plan);
  plan::write_evaluate(plan);
  plan::write_read_ahead(plan);
  for (plan::Body& body : plan.bodies) plan::number_lanes(body);
  plan::pack(plan);
  for (plan::Body& body : plan.bodies) plan::place_waits(plan, body);
  return plan;
}

TEST(RandomOrder, a_loop_over_micro_batches_computes_the_bits_of_all_of_them_written_out) {
  int looped = 0;
  for (uint64_t seed = 0; seed < plans_to_draw(); ++seed) {
    SCOPED_TRACE(seed);
    plan::Request request =
        seed % 2 ? testing::random_request(seed) : testing::random_tiered_request(seed);
    request.micro_batches = 11 + int(seed % 6);
    request.audits = false;  // plan_in_full() writes none
    const testing::TinyModel model = testing::random_model(seed);
    const plan::Plan plan = testing::tiny_plan(request, model), full = plan_in_full(request, model);
    looped += plan.bodies[kStep].loop.is_there();
    EXPECT_FALSE(full.bodies[kStep].loop.is_there());
    request.most_written = request.micro_batches;
    const plan::Plan written = testing::tiny_plan(request, model);
    EXPECT_FALSE(written.bodies[kStep].loop.is_there());
    const Rules rules = testing::tiny_rules(request.compute);
    testing::ThreadRanks threads(plan, rules), all(full, rules), ordinary(written, rules);
    const testing::Outcome expected = testing::train(ordinary, written, 2);
    expect_same(testing::train(all, full, 2), expected);
    expect_same(testing::train(threads, plan, 2), expected);
    testing::RandomRanks random(plan, rules, {.seed = seed});
    expect_same(testing::train(random, plan, 2), expected);
  }
  EXPECT_GT(looped, 3);
}

/// Four tokens as one chunk with padding, then a fifth alone; the logits behind it.
template <class Executor, class BytesOf>
std::vector<float> continue_text(Executor& executor, const plan::Plan& plan,
                                 const BytesOf& bytes_of) {
  const auto fill_with = [&](int32_t buffer, auto values) {
    std::memcpy(bytes_of(buffer).data(), values.data(), values.size() * sizeof(values[0]));
  };
  for (const plan::Unit& unit : plan.units) {
    fill_with(unit.weight, testing::noise<float>(unit.numel, uint64_t(unit.numel)));
  }
  fill_with(plan.input(1, "tokens").buffer, std::vector<int32_t>{3, 1, 4, 1});
  fill_with(plan.input(1, "rows").buffer, testing::rows_from(0, 4));
  fill_with(plan.input(1, "logit rows").buffer, std::vector<int32_t>{3});
  executor.run_chunk(plan::kPrefill, {.rows = 4, .logits = 1});
  fill_with(plan.input(0, "tokens").buffer, std::vector<int32_t>{5});
  fill_with(plan.input(0, "rows").buffer, testing::rows_from(4, 1));
  fill_with(plan.input(0, "logit rows").buffer, std::vector<int32_t>{0});
  executor.run_chunk(plan::kDecode, {.rows = 1, .logits = 1});
  const int32_t logits_buffer = plan.output(0, graph::kLogitsOutput);
  std::vector<float> logits(bytes_of(logits_buffer).size() / sizeof(float));
  std::memcpy(logits.data(), bytes_of(logits_buffer).data(), logits.size() * sizeof(float));
  return logits;
}

TEST(RandomOrder, a_plan_that_continues_a_text_touches_only_what_it_declares) {
  constexpr model::Gpt2 kModel{
      .layers = 2, .width = 24, .heads = 2, .vocabulary = 9, .positions = 40};
  const auto graph_of = [&](int64_t length) {
    return model::gpt2_decode(kModel, {.length = length, .context = 40}, Dtype::f32);
  };
  const plan::Plan plan = plan::compile_decode({}, graph_of(1), graph_of(7));
  Executor executor(plan, {}, {});
  const auto expected = continue_text(
      executor, plan, [&](int32_t buffer) { return executor.buffers().bytes(buffer); });
  EXPECT_FALSE(std::isnan(expected.front()));
  for (bool exact : {false, true}) {
    RandomOrderExecutor random(plan, {}, {.seed = 1, .exact_copies = exact});
    EXPECT_EQ(continue_text(random, plan, [&](int32_t buffer) { return random.bytes(0, buffer); }),
              expected);
  }
}

TEST(RandomOrder, refuses_the_inputs_of_another_kind_of_plan) {
  testing::HandPlan hand;
  Executor executor(hand.plan, {}, {});
  EXPECT_THROW(executor.run_chunk(plan::kDecode, {.rows = 1}), Error);
  EXPECT_THROW(executor.run_chunk(kStep, {.rows = 1}), Error);
}

// So the first two tests above can fail.
TEST(RandomOrder, a_compiled_plan_without_its_waits_computes_other_bits) {
  const plan::Request request{.stage = 3, .ranks = 2, .micro_batches = 2};
  plan::Plan plan = testing::tiny_plan(request);
  const Rules rules = testing::tiny_rules(Dtype::f32);
  testing::RandomRanks safe(plan, rules, {});
  const testing::Outcome expected = testing::train(safe, plan, 1);
  for (plan::PlanOp& op : plan.bodies[kStep].ops) op.waits.clear();
  int wrong = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    testing::RandomRanks unsafe(plan, rules, {.seed = seed});
    wrong += testing::train(unsafe, plan, 1).state != expected.state;
  }
  EXPECT_EQ(wrong, 4);
}

}  // namespace
}  // namespace zero::run
