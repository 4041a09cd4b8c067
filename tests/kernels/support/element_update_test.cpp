// Ranks: 1

#include "kernels/support/element_update.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/optimizer_state.hpp"

namespace zero::kernels {
namespace {

using testing::decision;
using testing::OptimizerState;
constexpr int64_t kNumel = 1003;

template <class Weight, class Grad>
struct TypePair {
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
using AllTypes = ::testing::Types<TypePair<float, float>, TypePair<bf16, bf16>,
                                  TypePair<bf16, float>, TypePair<f16, f16>, TypePair<f16, float>>;
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

/// The decay of element i; -1 where no segment has it.
float decay_of(const SegmentTable& table, int64_t i) {
  float decay = -1.0f;
  table.with_decay_of(i, i + 1, [&](float found) { decay = found; });
  return decay;
}

TEST(SegmentTable, GivesEachElementTheDecayOfItsSegment) {
  const std::vector<OptimizerSegment> segments{{0, 3, 0.5f}, {3, 4, 0.0f}, {6, 8, 0.25f}};
  const SegmentTable table(segments);
  const std::vector<float> expected = {0.5f, 0.5f, 0.5f, 0.0f, -1, -1, 0.25f, 0.25f, -1};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(decay_of(table, int64_t(i)), expected[i]);
}

TEST(SegmentTable, TellsRunsInOneSegmentFromRunsInSeveralAndInNone) {
  using Part = SegmentTable::Part;
  const SegmentTable table(std::vector<OptimizerSegment>{{8, 16, 0.5f}, {16, 20, 0.0f}});
  const auto part = [&](int64_t first, int64_t last) {
    float decay = -1.0f;
    const Part has = table.with_decay_of(first, last, [&](float found) { decay = found; });
    EXPECT_EQ(decay >= 0, has == Part::all);
    return has;
  };
  EXPECT_EQ(part(8, 16), Part::all);
  EXPECT_EQ(part(16, 20), Part::all);
  EXPECT_EQ(part(9, 10), Part::all);
  EXPECT_EQ(part(0, 8), Part::none);
  EXPECT_EQ(part(20, 28), Part::none);
  EXPECT_EQ(part(12, 20), Part::some) << "all its elements, but of two segments";
  EXPECT_EQ(part(0, 9), Part::some);
  EXPECT_EQ(part(19, 27), Part::some);
}

TEST(SegmentTable, HasRoomForItsMost) {
  std::vector<OptimizerSegment> segments;
  for (int s = 0; s < SegmentTable::kMost; ++s) segments.push_back({s, s + 1, float(s)});
  const SegmentTable table(segments);
  for (int s = 0; s < SegmentTable::kMost; ++s) EXPECT_EQ(decay_of(table, s), float(s));
  EXPECT_EQ(decay_of(SegmentTable({}), 0), -1.0f);
}

TEST(SegmentTable, ThatAreCutFromManySegmentsTakeEachElementOnceAndNoneBetweenThem) {
  std::vector<OptimizerSegment> segments;
  std::vector<float> expected(400, -1.0f), found(400, -1.0f);
  for (int64_t s = 0; s < 2 * SegmentTable::kMost + 1; ++s) {
    const int64_t begin = 10 * s + 3, end = begin + s % 8;  // one is empty
    segments.push_back({begin, end, float(s)});
    for (int64_t i = begin; i < end; ++i) expected[size_t(i)] = float(s);
  }
  int tables = 0;
  for_each_table(segments, [&](int64_t begin, int64_t end, const SegmentTable& table) {
    ++tables;
    for (int64_t i = begin; i < end; ++i) {
      table.with_decay_of(i, i + 1, [&](float decay) {
        EXPECT_EQ(found[size_t(i)], -1.0f) << i << " once";
        found[size_t(i)] = decay;
      });
    }
  });
  EXPECT_EQ(tables, 3);
  EXPECT_EQ(found, expected);
}

}  // namespace

}  // namespace zero::kernels
