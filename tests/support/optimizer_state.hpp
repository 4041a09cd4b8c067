#pragma once
/// Optimizer arrays for tests, whole or as the slices that ranks would hold, and Adam in double.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <type_traits>
#include <vector>

#include "tests/support/arrays.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::testing {

/// Types of weights and gradients that optimizers are compiled for.
template <class Weight, class Grad>
struct WeightAndGrad {
  using T = Weight;
  using G = Grad;
};
using OptimizerTypes = ::testing::Types<WeightAndGrad<float, float>, WeightAndGrad<bf16, bf16>,
                                        WeightAndGrad<bf16, float>, WeightAndGrad<f16, f16>,
                                        WeightAndGrad<f16, float>>;

/// Weights with masters in [-1, 1), zero moments, and a gradient of type G.
template <class T, class G = T>
struct OptimizerState {
  using Low = typename kernels::MasterLow<T>::type;
  std::vector<T> weight;
  std::vector<Low> low;
  std::vector<float> momentum, variance;
  std::vector<G> grad;

  explicit OptimizerState(size_t numel)
      : weight(numel), low(numel), momentum(numel), variance(numel), grad(numel) {
    const std::vector<float> masters = noise<float>(int64_t(numel), 1);
    for (size_t i = 0; i < numel; ++i) set_master(i, masters[i]);
  }

  void set_master(size_t i, float master) {
    if constexpr (std::is_same_v<T, bf16>) {
      weight[i] = kernels::split_master(master, low[i]);
    } else {
      weight[i] = T(master);
      low[i] = master;
    }
  }
  float master(size_t i) const {
    if constexpr (std::is_same_v<T, bf16>) {
      return kernels::join_master(weight[i], low[i]);
    } else if constexpr (std::is_same_v<T, f16>) {
      return low[i];
    } else {
      return weight[i];
    }
  }
  void new_gradient(uint64_t seed) { grad = noise<G>(int64_t(grad.size()), seed, 0.1); }

  /// The arrays from element `begin` on.
  kernels::OptimizerArrays<T, G> from(int64_t begin) {
    Low* const lows = std::is_same_v<T, float> ? nullptr : low.data() + begin;
    return {weight.data() + begin,
            lows,
            {momentum.data() + begin, variance.data() + begin},
            grad.data() + begin};
  }

  bool same_bits_as(const OptimizerState& other) const {
    const bool lows = std::is_same_v<T, float> || same_bits(low, other.low);
    return lows && same_bits(weight, other.weight) && same_bits(momentum, other.momentum) &&
           same_bits(variance, other.variance);
  }
};

inline constexpr float kDecay = 0.1f;

/// An update of every element, in slices that end at `cuts`, each of two segments. States that the
/// optimizer does not keep are null.
template <class T, class G>
void update_all(Stream& stream, const kernels::OptimizerRule& rule, const kernels::StepState& step,
                OptimizerState<T, G>& state, std::vector<int64_t> cuts = {}) {
  const size_t kept = form_of(rule.settings).states.size();
  cuts.push_back(int64_t(state.grad.size()));
  int64_t begin = 0;
  for (const int64_t end : cuts) {
    const int64_t middle = (end - begin) / 3;
    const std::vector<kernels::OptimizerSegment> segments{{0, middle, kDecay},
                                                          {middle, end - begin, kDecay}};
    kernels::OptimizerArrays<T, G> arrays = state.from(begin);
    for (size_t i = kept; i < size_t(kMostStates); ++i) arrays.states[i] = nullptr;
    kernels::update(stream, rule, segments, &step, arrays);
    begin = end;
  }
  stream.wait();
}

/// Three updates come to the same bits on the device, the host, in slices and by several threads.
template <class T, class G>
void expect_one_update_everywhere(const kernels::OptimizerRule& rule,
                                  const std::function<kernels::StepState(int update)>& decided) {
  constexpr int64_t kNumel = 3 * 2048 + 777;
  OptimizerState<T, G> whole(kNumel), cut(kNumel), threaded(kNumel), host(kNumel);
  Stream one(1), two(2), on_host(2, Place::host);
  for (int update = 1; update <= 3; ++update) {
    const kernels::StepState step = decided(update);
    for (auto* state : {&whole, &cut, &threaded, &host}) state->new_gradient(uint64_t(update));
    update_all(one, rule, step, whole);
    update_all(one, rule, step, cut, {1, 18, 2048, 4099});
    update_all(two, rule, step, threaded);
    update_all(on_host, rule, step, host);
  }
  EXPECT_TRUE(cut.same_bits_as(whole));
  EXPECT_TRUE(threaded.same_bits_as(whole));
  EXPECT_TRUE(host.same_bits_as(whole));
  EXPECT_FALSE((whole.same_bits_as(OptimizerState<T, G>(kNumel))));
}

/// The decision for update number `update` (from 1) at default betas.
inline kernels::StepState decision(int update, float learning_rate, float grad_multiplier = 1.0f) {
  kernels::StepState state{};
  state.apply = 1;
  state.updates = update;
  state.grad_multiplier = grad_multiplier;
  state.learning_rate = learning_rate;
  state.unbias1 = float(1 / (1 - std::pow(0.9, update)));
  state.unbias2_sqrt = float(std::sqrt(1 - std::pow(0.999, update)));
  return state;
}

/// Adam's moments of one element in double.
struct Moments {
  double m = 0, v = 0;

  /// Takes gradient `g` as update number `update`; returns the direction.
  double direction(double g, int update) {
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    return m / (1 - std::pow(0.9, update)) / (std::sqrt(v / (1 - std::pow(0.999, update))) + 1e-8);
  }
};

}  // namespace zero::testing
