#pragma once
/// The update of a stretch of one segment by any formula of its elements, the same code for the
/// host's and the device's loop.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/support/optimizers.hpp"
#include "zero/base/portable.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

// The fp32 master of a weight, whatever completes it. See MasterLow in optimizer.hpp.

ZERO_HOST_DEVICE inline float load_master(const float* weight, const float*, int64_t i) {
  return weight[i];
}
ZERO_HOST_DEVICE inline float load_master(const bf16* weight, const int16_t* low, int64_t i) {
  return join_master(weight[i], low[i]);
}
ZERO_HOST_DEVICE inline float load_master(const f16*, const float* low, int64_t i) {
  return low[i];
}

ZERO_HOST_DEVICE inline void store_master(float master, float* weight, float*, int64_t i) {
  weight[i] = master;
}
ZERO_HOST_DEVICE inline void store_master(float master, bf16* weight, int16_t* low, int64_t i) {
  weight[i] = split_master(master, low[i]);
}
ZERO_HOST_DEVICE inline void store_master(float master, f16* weight, float* low, int64_t i) {
  weight[i] = f16(master);
  low[i] = master;
}

/// The compiler turns a loop of this many turns into straight vector code.
inline constexpr int64_t kStripNumel = 32;

/// How far ahead of the arithmetic a strip's lines are asked for. The host's own prefetcher loses
/// five arrays at every page, and 16-bit elements fill a page's time with little arithmetic: 0.80
/// of the stream rate becomes 0.90; with fp32 weights nothing is gained.
inline constexpr int64_t kAheadNumel = 192;

template <class E>
ZERO_INLINE void ask_ahead(const E* array, int64_t i) {
  constexpr int64_t kLine = 64 / int64_t(sizeof(E));
  for (int64_t j = 0; j < kStripNumel; j += kLine)
    __builtin_prefetch(array + i + kAheadNumel + j, 1);
}

template <int kStates, class T, class G>
ZERO_INLINE void ask_ahead_of_all(const OptimizerArrays<T, G>& a, int64_t i) {
  ask_ahead(a.weight, i);
  ask_ahead(a.low, i);
  for (int state = 0; state < kStates; ++state) ask_ahead(a.states[state], i);
  ask_ahead(a.grad, i);
}

/// A gradient as the update reads it: an fp32 sum rounded to T first if kRound.
template <class T, bool kRound, class G>
ZERO_HOST_DEVICE float gradient_at(const G* grad, int64_t i, float multiplier) {
  const float g = float(grad[i]);
  return (kRound ? float(T(g)) : g) * multiplier;
}

/// A gradient that is a T already rounds to itself.
template <class T, class G>
bool rounds_gradient(const OptimizerRule& rule) {
  return rule.round_gradient && !std::is_same_v<T, G>;
}

/// Element by element, by vectors where kOnHost. A Formula is made of settings, step state and
/// weight decay, has kLabel and kStates, and turns (master, gradient, states, i) into the new
/// master while it updates states[..][i].
template <class Formula, class T, class G, bool kRound, bool kOnHost>
struct ElementUpdate {
  OptimizerConfig settings;
  float weight_decay;
  const StepState* state;
  OptimizerArrays<T, G> arrays;

  ZERO_HOST_DEVICE void operator()(int64_t first, int64_t last) const {
    if (state->apply == 0) return;
    const Formula formula(settings, *state, weight_decay);
    const OptimizerArrays<T, G> a = arrays;
    const float multiplier = state->grad_multiplier;
    const auto update = [=](int64_t i) {
      const float w = load_master(a.weight, a.low, i);
      const float g = gradient_at<T, kRound>(a.grad, i, multiplier);
      store_master(formula(w, g, a.states, i), a.weight, a.low, i);
    };
    int64_t i = first;
    for (; i + kStripNumel <= last; i += kStripNumel) {
      if constexpr (kOnHost && sizeof(T) == 2) ask_ahead_of_all<Formula::kStates>(a, i);
#pragma GCC ivdep
      for (int64_t j = i; j < i + kStripNumel; ++j) update(j);
    }
#pragma GCC ivdep
    for (int64_t j = i; j < last; ++j) update(j);
  }
};

/// Calls f(formula, rounds) with what the rule says, as a std::type_identity and a constant.
template <class T, class G, class F>
void with_form_of(const OptimizerRule& rule, const F& f) {
  with_formula(rule.settings, [&](auto formula) {
    if (rounds_gradient<T, G>(rule)) return f(formula, std::true_type());
    return f(formula, std::false_type());
  });
}

}  // namespace zero::kernels
