// Ranks: 1

#include "kernels/support/element_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/optimizer_state.hpp"

namespace zero::kernels {
namespace {

using testing::decision, testing::OptimizerState;
constexpr int64_t kNumel = 1003;

template <class Weight, class Grad>
struct Types {
  using T = Weight;
  using G = Grad;
};

template <class P>
class ElementRuns : public ::testing::Test {
 protected:
  using T = typename P::T;
  using G = typename P::G;
  using State = OptimizerState<T, G>;

  /// Every table's launch, run by run.
  static void update(State& state, const OptimizerRule& rule,
                     std::span<const OptimizerSegment> segments, const StepState& step,
                     bool in_runs) {
    with_form_of<T, G>(rule, [&](auto formula, auto rounds) {
      using Formula = typename decltype(formula)::type;
      for_each_table(segments, [&](int64_t begin, int64_t end, const SegmentTable& table) {
        const ElementRun<Formula, T, G, rounds> run{rule.settings, &step, state.from(0), table,
                                                    in_runs};
        for (int64_t first = begin / kRunNumel * kRunNumel; first < end; first += kRunNumel)
          run(first, std::min(first + kRunNumel, end));
      });
    });
  }
};
using AllTypes = ::testing::Types<Types<float, float>, Types<bf16, bf16>, Types<bf16, float>,
                                  Types<f16, f16>, Types<f16, float>>;
TYPED_TEST_SUITE(ElementRuns, AllTypes);

/// Whole runs, segments that end within one, gaps, and more of them than a table has.
std::vector<OptimizerSegment> drawn_segments() {
  std::vector<OptimizerSegment> segments = {{0, 64, 0.1f}, {64, 129, 0.0f}, {130, 137, 0.2f}};
  for (int64_t s = 0; s < 14; ++s)
    segments.push_back({200 + 50 * s, 230 + 50 * s + s, 0.01f * float(s)});
  segments.push_back({960, kNumel, 0.1f});
  return segments;
}

TYPED_TEST(ElementRuns, HaveTheBitsOfTheHostsUpdateAndLeaveWhatNoSegmentHas) {
  const std::vector<OptimizerSegment> segments = drawn_segments();
  for (const OptimizerRule& rule :
       {OptimizerRule{},
        OptimizerRule{.settings = {.type = OptimizerType::Adam}, .round_gradient = false},
        OptimizerRule{.settings = {.type = OptimizerType::Lion}},
        OptimizerRule{.settings = {.type = OptimizerType::SGD, .momentum = 0.9}}}) {
    typename TestFixture::State expected(kNumel), runs(kNumel), single(kNumel);
    for (int update = 1; update <= 3; ++update) {
      const StepState step = decision(update, 0.01f, 0.37f);
      for (auto* state : {&expected, &runs, &single}) state->new_gradient(uint64_t(update));
      Stream stream(1, Place::host);
      kernels::update(stream, rule, segments, &step, expected.from(0));
      this->update(runs, rule, segments, step, true);
      this->update(single, rule, segments, step, false);
    }
    ASSERT_TRUE(takes_runs<2>(runs.from(0))) << "the heap's alignment";
    EXPECT_TRUE(runs.same_bits_as(expected));
    EXPECT_TRUE(single.same_bits_as(expected));
    EXPECT_EQ(runs.momentum[129], 0.0f) << "between two segments";
  }
}

TYPED_TEST(ElementRuns, WriteNothingInASkippedStep) {
  typename TestFixture::State state(kNumel), before(kNumel);
  for (auto* one : {&state, &before}) one->new_gradient(1);
  StepState step = decision(1, 0.01f);
  step.apply = 0;
  this->update(state, {}, drawn_segments(), step, true);
  EXPECT_TRUE(state.same_bits_as(before));
}

TYPED_TEST(ElementRuns, AreRefusedByArraysThatBeginWithinOne) {
  typename TestFixture::State state(kNumel);
  EXPECT_TRUE(takes_runs<2>(state.from(8)));
  EXPECT_FALSE(takes_runs<2>(state.from(1)));
}

}  // namespace
}  // namespace zero::kernels
