// Ranks: 1
// Updates that leave their results in second copies, and what they are made by.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/support/optimizer_state.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/optimizer.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {
namespace {

using testing::decision;
using testing::OptimizerState;

constexpr int64_t kNumel = 2 * kPieceNumel + 3000;
/// With a gap, a part of a strip at an end, and one that several pieces have.
const std::vector<OptimizerSegment> kSegments{
    {0, 1000, 0.1f}, {1024, kPieceNumel + 77, 0.0f}, {kPieceNumel + 128, kNumel, 0.1f}};

template <class P>
class UpdateInto : public ::testing::Test {};
TYPED_TEST_SUITE(UpdateInto, testing::OptimizerTypes);

template <class State>
void drop_states_but(const OptimizerConfig& settings, State& arrays) {
  for (size_t i = form_of(settings).states.size(); i < size_t(kMostStates); ++i)
    arrays.states[i] = nullptr;
}

// Gaps are nobody's, in both copies.
TYPED_TEST(UpdateInto, LeavesInAnotherCopyTheBitsOfAnUpdateInPlace) {
  using State = OptimizerState<typename TypeParam::T, typename TypeParam::G>;
  const OptimizerConfig kForms[] = {{},
                                    {.type = OptimizerType::Lion, .betas = {0.9, 0.99}},
                                    {.type = OptimizerType::SGD, .momentum = 0.9},
                                    {.type = OptimizerType::SGD}};
  Stream stream(2, Place::host);
  for (const OptimizerConfig& form : kForms) {
    State in_place(kNumel), one(kNumel), other(kNumel);
    const OptimizerRule rule{.settings = form};
    State *from = &one, *to = &other;
    for (int step = 1; step <= 4; ++step) {
      for (State* state : {&in_place, from}) state->new_gradient(uint64_t(step));
      const StepState decided = decision(step, 0.01f, 0.5f);
      auto arrays = in_place.from(0), read = from->from(0), written = to->from(0);
      for (auto* some : {&arrays, &read, &written}) drop_states_but(form, *some);
      const State before = *from;
      update(stream, rule, kSegments, &decided, arrays);
      update_into(stream, rule, kSegments, &decided, read, written);
      ASSERT_TRUE(to->same_bits_as(in_place)) << "step " << step;
      ASSERT_TRUE(from->same_bits_as(before)) << "step " << step;
      std::swap(from, to);
    }
  }
}

TEST(UpdateIntoASecondCopy, WritesNothingOfASkippedAttempt) {
  OptimizerState<float> from(64), to(64);
  const OptimizerState<float> before = to;
  from.new_gradient(1);
  StepState skipped = decision(1, 0.01f);
  skipped.apply = 0;
  Stream stream(1, Place::host);
  const std::vector<OptimizerSegment> all{{0, 64, 0.1f}};
  update_into(stream, {}, all, &skipped, from.from(0), to.from(0));
  EXPECT_TRUE(to.same_bits_as(before));
}

TEST(UpdateIntoASecondCopy, RefusesSegmentsThatBeginBetweenLines) {
  OptimizerState<float> from(64), to(64);
  const StepState decided = decision(1, 0.01f);
  Stream stream(1, Place::host);
  const std::vector<OptimizerSegment> odd{{1, 64, 0.1f}};
  EXPECT_THROW(update_into(stream, {}, odd, &decided, from.from(0), to.from(0)), Error);
}

TEST(CopyOnHost, CopiesAllBytesByAnyNumberOfThreads) {
  const std::vector<float> from = testing::noise<float>(700'001, 1);
  for (const int threads : {1, 3}) {
    std::vector<float> to(from.size() + 1, 7.0f);
    Stream stream(threads, Place::host);
    copy_on_host(stream, std::as_bytes(std::span(from)), reinterpret_cast<std::byte*>(to.data()));
    EXPECT_EQ(std::memcmp(to.data(), from.data(), from.size() * sizeof(float)), 0);
    EXPECT_EQ(to.back(), 7.0f);
  }
}

/// An attempt that is pending, with a loss of 1 and this sum of squares.
struct Attempt {
  double squares = 1.0;
  int64_t nonfinite = 0;
};

/// Whether the guess before a decision is the decision, three updates into a run.
bool guesses(DecideRule rule, const Attempt& attempt) {
  const std::vector<float> rates{0.5f, 0.25f, 0.125f};
  rule.learning_rates = rates.data();
  rule.learning_rate_count = int64_t(rates.size());
  StepState state = initial_step_state(rule);
  Stream stream(1);
  bool same = false;
  for (int step = 0; step < 4; ++step) {
    const bool last = step == 3;
    StepInputs inputs{};
    inputs.pending = 1;
    inputs.pending_tokens = 1;
    StepSums sums{};
    sums.grad_squares.add(last ? attempt.squares : 0.25);
    sums.loss.add(1.0);
    sums.nonfinite = last ? attempt.nonfinite : 0;
    const StepState guess = guess_decision(rule, state);
    decide(stream, rule, &inputs, &sums, &state);
    stream.wait();
    same = is_same_update(guess, state);
    EXPECT_TRUE(same || last) << step;
  }
  return same;
}

TEST(GuessDecision, IsTheDecisionOfAnAttemptThatIsNeitherClippedNorSkipped) {
  const DecideRule clips{.scaling = {}, .clip = 2.0};
  const DecideRule scales{.scaling = {.enabled = true, .initial_scale = 1024.0f, .window = 1},
                          .clip = 1e3};
  EXPECT_TRUE(guesses(clips, {.squares = 3.9}));
  EXPECT_FALSE(guesses(clips, {.squares = 4.1}));
  EXPECT_TRUE(guesses({}, {.squares = 1e30}));
  EXPECT_TRUE(guesses(scales, {}));
  EXPECT_FALSE(guesses(scales, {.nonfinite = 1}));
  EXPECT_FALSE(guesses(clips, {.nonfinite = 1}));
}

}  // namespace
}  // namespace zero::kernels
