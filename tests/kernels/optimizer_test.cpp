// Ranks: 1

#include "zero/kernels/optimizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/support/kernel_arrays.hpp"
#include "tests/support/optimizer_state.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

using testing::decision;
using testing::Moments;
using testing::OptimizerState;

using AllTypes = testing::OptimizerTypes;

constexpr int64_t kNumel = 3 * 2048 + 777;
constexpr OptimizerConfig kL2{.type = OptimizerType::Adam, .adam_w_mode = false};

template <class T, class G>
void run_adam(OptimizerState<T, G>& state, const StepState& step, std::vector<int64_t> cuts = {},
              const OptimizerRule& rule = {}, int threads = 1) {
  Stream stream(threads);
  cuts.push_back(kNumel);
  int64_t begin = 0;
  for (const int64_t end : cuts) {  // each cut is a rank's slice, of two segments
    const int64_t middle = (end - begin) / 3;
    const std::vector<OptimizerSegment> segments{{0, middle, 0.1f}, {middle, end - begin, 0.1f}};
    kernels::update(stream, rule, segments, &step, state.from(begin));
    begin = end;
  }
  stream.wait();
}

template <class P>
class Adam : public ::testing::Test {};
TYPED_TEST_SUITE(Adam, AllTypes);

TYPED_TEST(Adam, FollowsTheDoubleLoopOverTwentySteps) {
  OptimizerState<typename TypeParam::T, typename TypeParam::G> state(kNumel);
  std::vector<Moments> moments(kNumel);
  std::vector<double> masters(kNumel);
  for (size_t i = 0; i < kNumel; ++i) masters[i] = state.master(i);
  for (int update = 1; update <= 20; ++update) {
    state.new_gradient(uint64_t(100 + update));
    run_adam(state, decision(update, 0.01f, 0.5f));
    for (size_t i = 0; i < kNumel; ++i) {
      const double g = 0.5 * double(float(typename TypeParam::T(float(state.grad[i]))));
      masters[i] -= 0.01 * 0.1 * masters[i];
      masters[i] -= 0.01 * moments[i].direction(g, update);
    }
  }
  for (size_t i = 0; i < kNumel; ++i) ASSERT_NEAR(state.master(i), masters[i], 2e-6) << i;
}

TYPED_TEST(Adam, ShardsAndThreadsDoNotChangeABit) {
  OptimizerState<typename TypeParam::T, typename TypeParam::G> whole(kNumel), cut(kNumel),
      threaded(kNumel);
  for (int update = 1; update <= 3; ++update) {
    for (auto* state : {&whole, &cut, &threaded}) state->new_gradient(uint64_t(update));
    run_adam(whole, decision(update, 0.01f));
    run_adam(cut, decision(update, 0.01f), {1, 18, 2048, 4099});
    run_adam(threaded, decision(update, 0.01f), {}, {}, 2);
  }
  EXPECT_TRUE(cut.same_bits_as(whole));
  EXPECT_TRUE(threaded.same_bits_as(whole));
}

/// Numbers of every size that matters: from where squares are subnormal to where they are large.
template <class G>
void spread_gradients(std::vector<G>& grad, uint64_t seed) {
  grad = testing::noise<G>(int64_t(grad.size()), seed);
  for (size_t i = 0; i < grad.size(); ++i) {
    const int exponent = int((i * 2654435761u + seed) % 80) - 70;
    grad[i] = G(std::ldexp(float(grad[i]), exponent));
  }
}

// On a GPU these are two compilers' code on two processors; so the bits are those of the rules.
TYPED_TEST(Adam, TheHostGivesTheBitsOfTheDevice) {
  for (const OptimizerRule& rule :
       {OptimizerRule{}, OptimizerRule{.settings = kL2, .round_gradient = false}}) {
    OptimizerState<typename TypeParam::T, typename TypeParam::G> device(kNumel), host(kNumel);
    Stream on_device(1), on_host(2, Place::host);
    const std::vector<OptimizerSegment> segments{{0, 1001, 0.1f}, {1001, kNumel, 0.0f}};
    for (int update = 1; update <= 5; ++update) {
      const StepState step = decision(update, 0.01f, 0.37f);
      for (auto* state : {&device, &host}) spread_gradients(state->grad, uint64_t(update));
      kernels::update(on_device, rule, segments, &step, device.from(0));
      kernels::update(on_host, rule, segments, &step, host.from(0));
      on_device.wait();
      ASSERT_TRUE(host.same_bits_as(device)) << "update " << update;
    }
    EXPECT_FALSE(
        host.same_bits_as(OptimizerState<typename TypeParam::T, typename TypeParam::G>(kNumel)));
  }
}

/// Counts how often each element is shown before and after its update, with what it is then.
class Watch final : public AroundPieces {
 public:
  explicit Watch(const std::vector<float>& momentum)
      : momentum_(momentum), before_(momentum.size()), after_(momentum.size()) {}

  void before(int64_t begin, int64_t end) const override {
    for (int64_t i = begin; i < end; ++i) before_[size_t(i)] += momentum_[size_t(i)] == 0 ? 1 : 100;
  }
  void after(int64_t begin, int64_t end) const override {
    for (int64_t i = begin; i < end; ++i) after_[size_t(i)] += momentum_[size_t(i)] != 0 ? 1 : 100;
  }
  bool has_seen_each_once() const {
    const std::vector<int> once(momentum_.size(), 1);
    return before_ == once && after_ == once;
  }

 private:
  const std::vector<float>& momentum_;
  mutable std::vector<int> before_, after_;
};

TYPED_TEST(Adam, PiecesAreShownAroundTheirUpdateAndChangeNoBit) {
  constexpr int64_t kPieces = 2 * kPieceNumel + 777;
  OptimizerState<typename TypeParam::T, typename TypeParam::G> whole(kPieces), pieces(kPieces);
  const std::vector<OptimizerSegment> segments{{0, 40000, 0.1f}, {40000, kPieces, 0.0f}};
  for (auto* state : {&whole, &pieces}) {
    state->new_gradient(1);
    for (auto& g : state->grad)
      if (float(g) == 0.0f) g = typename TypeParam::G(1.0f);
  }
  const StepState step = decision(1, 0.01f);
  Stream stream(2);
  kernels::update(stream, OptimizerRule{}, segments, &step, whole.from(0));
  const Watch watch(pieces.momentum);
  update_in_pieces(stream, OptimizerRule{}, segments, &step, pieces.from(0), kPieces, watch);
  stream.wait();
  EXPECT_TRUE(pieces.same_bits_as(whole));
  EXPECT_TRUE(watch.has_seen_each_once());
}

/// Refuses the second piece.
class Refusing final : public AroundPieces {
 public:
  void before(int64_t begin, int64_t) const override {
    if (begin == kPieceNumel) refuse(Exit::kIo, "not these");
  }
  void after(int64_t, int64_t) const override {}
};

TEST(AdamRules, APieceThatIsRefusedIsNotUpdated) {
  OptimizerState<float> state(3 * kPieceNumel), before(3 * kPieceNumel);
  state.new_gradient(1);
  const std::vector<OptimizerSegment> segments{{0, 3 * kPieceNumel, 0.1f}};
  const StepState step = decision(1, 0.01f);
  Stream stream(2);
  EXPECT_THROW(update_in_pieces(stream, OptimizerRule{}, segments, &step, state.from(0),
                                3 * kPieceNumel, Refusing()),
               Error);
  const auto at = [](const std::vector<float>& all) { return all.begin() + kPieceNumel; };
  EXPECT_TRUE(std::equal(at(state.weight), at(state.weight) + kPieceNumel, at(before.weight)));
  EXPECT_NE(state.weight[0], before.weight[0]);
}

TYPED_TEST(Adam, ASkippedStepKeepsEveryBit) {
  OptimizerState<typename TypeParam::T, typename TypeParam::G> state(kNumel), before(kNumel);
  StepState step = decision(1, 0.01f);
  step.apply = 0;
  state.new_gradient(5);
  run_adam(state, step);
  EXPECT_TRUE(state.same_bits_as(before));
  step.apply = 1;
  run_adam(state, step);
  EXPECT_FALSE(state.same_bits_as(before));
}

TEST(AdamRules, TheFirstStepDecaysAndMovesByTheLearningRate) {
  // Zero moments give m / sqrt(v) = sign(g): 1 becomes 1 - 0.01 * 0.1 - 0.01 sign(g).
  OptimizerState<float> state(kNumel);
  for (size_t i = 0; i < kNumel; ++i) {
    state.set_master(i, 1.0f);
    state.grad[i] = i % 2 ? 100.0f : -0.25f;
  }
  run_adam(state, decision(1, 0.01f));
  EXPECT_NEAR(state.master(0), 0.999f + 0.01f, 1e-6f);
  EXPECT_NEAR(state.master(1), 0.999f - 0.01f, 1e-6f);
}

TEST(AdamRules, L2AddsTheDecayToTheGradient) {
  OptimizerState<float> state(kNumel);
  for (size_t i = 0; i < kNumel; ++i) state.set_master(i, 1.0f);
  run_adam(state, decision(1, 0.01f), {}, {.settings = kL2});
  EXPECT_NEAR(state.momentum[0], 0.1f * 0.1f, 1e-8f);  // (1 - beta1) * decay * 1
  EXPECT_NEAR(state.master(0), 1.0f - 0.01f, 1e-6f);
}

TEST(AdamRules, AnFp32SumIsRoundedFirstUnlessToldOtherwise) {
  OptimizerState<bf16, float> summed(kNumel), exact(kNumel);
  OptimizerState<bf16, bf16> rounded(kNumel);
  summed.new_gradient(1);
  exact.new_gradient(1);
  for (size_t i = 0; i < kNumel; ++i) rounded.grad[i] = bf16(summed.grad[i]);
  run_adam(summed, decision(1, 0.01f));
  run_adam(rounded, decision(1, 0.01f));
  run_adam(exact, decision(1, 0.01f), {}, {.round_gradient = false});
  EXPECT_TRUE(same_bits(summed.momentum, rounded.momentum));
  EXPECT_TRUE(same_bits(summed.weight, rounded.weight));
  EXPECT_FALSE(same_bits(exact.momentum, rounded.momentum));
}

TEST(AdamRules, RefuseSegmentsThatAreOutOfOrder) {
  Stream stream(1);
  OptimizerState<float> state(8);
  const StepState step = decision(1, 0.01f);
  const std::vector<OptimizerSegment> segments{{4, 8, 0.1f}, {0, 4, 0.1f}};
  EXPECT_THROW(kernels::update(stream, OptimizerRule{}, segments, &step, state.from(0)), Error);
}

TEST(SplitMaster, JoinsBackToTheSameBits) {
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 499) {
    const float master = std::bit_cast<float>(uint32_t(bits));
    if (!std::isfinite(master)) continue;
    int16_t low = 0;
    const bf16 weight = split_master(master, low);
    ASSERT_EQ(std::bit_cast<uint32_t>(join_master(weight, low)), uint32_t(bits));
  }
}

TEST(SplitMaster, TheWeightIsTheMasterRoundedHalfUp) {
  int16_t low = 0;
  EXPECT_EQ(float(split_master(1.0f, low)), 1.0f);
  EXPECT_EQ(low, 0);
  EXPECT_EQ(float(split_master(1.0f + 0x1p-8f, low)), 1.0f + 0x1p-7f);
  EXPECT_EQ(low, -32768);
  EXPECT_EQ(float(split_master(1.0f + 0x1.fp-9f, low)), 1.0f);
}

TEST(SplitMaster, NaNAndInfinityStayWhatTheyAre) {
  int16_t low = 0;
  for (uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xffffffffu}) {
    const bf16 weight = split_master(std::bit_cast<float>(bits), low);
    EXPECT_TRUE(std::isnan(float(weight)));
    EXPECT_TRUE(std::isnan(join_master(weight, low)));
  }
  EXPECT_EQ(float(split_master(std::numeric_limits<float>::infinity(), low)),
            std::numeric_limits<float>::infinity());
}

// LAMB: two tensors that fill [0, 2500) and [2560, kNumel), the second without decay.

const std::vector<TensorSegment> kTensors{{0, 2500, 0.1f, 0}, {2560, kNumel, 0.0f, 1}};

/// The parts of the tensors in [begin, end), counted from begin.
std::vector<TensorSegment> tensors_in(int64_t begin, int64_t end) {
  std::vector<TensorSegment> parts;
  for (TensorSegment part : kTensors) {
    part.begin = std::max(part.begin, begin) - begin;
    part.end = std::min(part.end, end) - begin;
    if (part.begin < part.end) parts.push_back(part);
  }
  return parts;
}

/// One LAMB update by slices that begin at `begins`; their norms add as an all-reduce would.
template <class T, class G>
std::vector<TensorNorms> run_lamb(OptimizerState<T, G>& state, const StepState& step,
                                  std::vector<int64_t> begins = {0}, const OptimizerRule& rule = {},
                                  int threads = 1, Place place = Place::device) {
  Stream stream(threads, place);
  std::vector<TensorNorms> norms(2, TensorNorms{});
  begins.push_back(kNumel);
  for (size_t r = 0; r + 1 < begins.size(); ++r) {
    std::vector<TensorNorms> own(2, TensorNorms{});
    lamb_norms(stream, rule, tensors_in(begins[r], begins[r + 1]), &step, state.from(begins[r]),
               begins[r], own.data());
    stream.wait();
    for (size_t t = 0; t < 2; ++t) {
      norms[t].weight.add(own[t].weight);
      norms[t].update.add(own[t].update);
    }
  }
  for (size_t r = 0; r + 1 < begins.size(); ++r) {
    lamb_apply(stream, rule, tensors_in(begins[r], begins[r + 1]), &step, state.from(begins[r]),
               norms.data());
  }
  stream.wait();
  return norms;
}

template <class P>
class Lamb : public ::testing::Test {};
TYPED_TEST_SUITE(Lamb, AllTypes);

TYPED_TEST(Lamb, FollowsTheDoubleLoop) {
  OptimizerState<typename TypeParam::T, typename TypeParam::G> state(kNumel);
  std::vector<Moments> moments(kNumel);
  std::vector<double> masters(kNumel);
  for (size_t i = 0; i < kNumel; ++i) masters[i] = state.master(i);
  for (int update = 1; update <= 5; ++update) {
    state.new_gradient(uint64_t(update));
    run_lamb(state, decision(update, 0.01f));
    for (const TensorSegment& tensor : kTensors) {
      std::vector<double> u(kNumel);
      double weight = 0, length = 0;
      for (size_t i = size_t(tensor.begin); i < size_t(tensor.end); ++i) {
        const double g = double(float(typename TypeParam::T(float(state.grad[i]))));
        u[i] = moments[i].direction(g, update) + double(tensor.weight_decay) * masters[i];
        weight += masters[i] * masters[i];
        length += u[i] * u[i];
      }
      const double ratio = std::clamp(std::sqrt(weight / length), 0.01, 10.0);
      for (size_t i = size_t(tensor.begin); i < size_t(tensor.end); ++i) {
        masters[i] -= 0.01 * ratio * u[i];
      }
    }
  }
  for (size_t i = 0; i < kNumel; ++i) ASSERT_NEAR(state.master(i), masters[i], 2e-6) << i;
}

TYPED_TEST(Lamb, ShardsAndThreadsDoNotChangeABit) {
  OptimizerState<typename TypeParam::T, typename TypeParam::G> whole(kNumel), cut(kNumel),
      threaded(kNumel);
  for (int update = 1; update <= 3; ++update) {
    for (auto* state : {&whole, &cut, &threaded}) state->new_gradient(uint64_t(update));
    const auto norms = run_lamb(whole, decision(update, 0.01f));
    const auto sharded = run_lamb(cut, decision(update, 0.01f), {0, 2048, 6144});
    run_lamb(threaded, decision(update, 0.01f), {0}, {}, 2);
    for (size_t t = 0; t < 2; ++t) {
      EXPECT_EQ(sharded[t].weight.value(), norms[t].weight.value());
      EXPECT_EQ(sharded[t].update.value(), norms[t].update.value());
    }
  }
  EXPECT_TRUE(cut.same_bits_as(whole));
  EXPECT_TRUE(threaded.same_bits_as(whole));
}

TYPED_TEST(Lamb, TheHostGivesTheBitsOfTheDevice) {
  OptimizerState<typename TypeParam::T, typename TypeParam::G> device(kNumel), host(kNumel);
  for (int update = 1; update <= 5; ++update) {
    for (auto* state : {&device, &host}) spread_gradients(state->grad, uint64_t(update));
    const auto norms = run_lamb(device, decision(update, 0.01f));
    const auto others = run_lamb(host, decision(update, 0.01f), {0, 2048}, {}, 2, Place::host);
    for (size_t t = 0; t < 2; ++t) {
      EXPECT_EQ(others[t].weight.value(), norms[t].weight.value());
      EXPECT_EQ(others[t].update.value(), norms[t].update.value());
    }
    ASSERT_TRUE(host.same_bits_as(device)) << "update " << update;
  }
}

TYPED_TEST(Lamb, ASkippedStepKeepsEveryBit) {
  OptimizerState<typename TypeParam::T, typename TypeParam::G> state(kNumel), before(kNumel);
  state.new_gradient(5);
  StepState step = decision(1, 0.01f);
  step.apply = 0;
  run_lamb(state, step);
  EXPECT_TRUE(state.same_bits_as(before));
}

TEST(LambRules, TheTrustRatioIsClampedAndIsOneForAZeroNorm) {
  // First step without decay on tensor 1: u = sign(g), so |w| / |u| = |w_i| for equal weights.
  const auto moved_by = [](float weight, const OptimizerRule& rule) {
    OptimizerState<float> state(kNumel);
    for (size_t i = 0; i < kNumel; ++i) {
      state.set_master(i, weight);
      state.grad[i] = 1.0f;
    }
    run_lamb(state, decision(1, 0.01f), {0}, rule);
    return weight - state.master(3000);
  };
  EXPECT_NEAR(moved_by(2.0f, {}), 0.01f * 2, 1e-6f);
  EXPECT_NEAR(moved_by(64.0f, {}), 0.01f * 10, 1e-5f);
  OptimizerRule at_least_three;
  at_least_three.settings.min_coeff = 3.0f;
  EXPECT_NEAR(moved_by(0.5f, at_least_three), 0.01f * 3, 1e-6f);
  EXPECT_NEAR(moved_by(0.0f, {}), 0.01f, 1e-6f);
}

TEST(LambRules, RefusesASliceThatBeginsInsideABlock) {
  Stream stream(1);
  const StepState step = decision(1, 0.01f);
  OptimizerState<float> state(kNumel);
  std::vector<TensorNorms> norms(2, TensorNorms{});
  EXPECT_THROW(
      lamb_norms(stream, {}, tensors_in(0, kNumel), &step, state.from(0), 100, norms.data()),
      Error);
}

}  // namespace
}  // namespace zero::kernels
