#pragma once
/// Adam's update of a stretch of one segment, the same code for the host's and the device's loop.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/support/adam.hpp"
#include "kernels/support/master.hpp"
#include "zero/base/portable.hpp"

namespace zero::kernels {

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

template <class T, class G>
ZERO_INLINE void ask_ahead(const OptimizerArrays<T, G>& a, int64_t i) {
  ask_ahead(a.weight, i);
  ask_ahead(a.rest, i);
  ask_ahead(a.momentum, i);
  ask_ahead(a.variance, i);
  ask_ahead(a.grad, i);
}

/// Element by element, by vectors where kOnHost.
template <class T, class G, bool kRound, bool kDecoupled, bool kOnHost>
struct AdamUpdate {
  AdamRule rule;
  float weight_decay;
  const StepState* state;
  OptimizerArrays<T, G> arrays;

  ZERO_HOST_DEVICE void operator()(int64_t first, int64_t last) const {
    if (state->apply == 0) return;
    const AdamStep step(rule, *state);
    const OptimizerArrays<T, G> a = arrays;
    const float keep = std::fma(-step.learning_rate, weight_decay, 1.0f), l2 = weight_decay;
    const auto update = [=](int64_t i) {
      const float w = load_master(a.weight, a.rest, i);
      const float own = gradient_at<T, kRound>(a.grad, i, step);
      const float g = kDecoupled ? own : std::fma(l2, w, own);
      const float m = step.momentum(a.momentum[i], g);
      const float v = step.variance(a.variance[i], g);
      a.momentum[i] = m;
      a.variance[i] = v;
      store_master(std::fma(-step.learning_rate, step.direction(m, v), kDecoupled ? w * keep : w),
                   a.weight, a.rest, i);
    };
    int64_t i = first;
    for (; i + kStripNumel <= last; i += kStripNumel) {
      if constexpr (kOnHost && sizeof(T) == 2) ask_ahead(a, i);
#pragma GCC ivdep
      for (int64_t j = i; j < i + kStripNumel; ++j) update(j);
    }
#pragma GCC ivdep
    for (int64_t j = i; j < last; ++j) update(j);
  }
};

/// Calls f(rounds, decoupled) with what the rule says, as constants.
template <class T, class G, class F>
void with_form_of(const AdamRule& rule, const F& f) {
  const auto with_rounding = [&](auto decoupled) {
    if (rounds_gradient<T, G>(rule)) return f(std::true_type(), decoupled);
    return f(std::false_type(), decoupled);
  };
  if (rule.decoupled) return with_rounding(std::true_type());
  return with_rounding(std::false_type());
}

}  // namespace zero::kernels
