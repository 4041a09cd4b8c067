#pragma once
/// The update of elements by any formula. ElementUpdate updates a stretch of one segment, on the
/// host and the device alike. ElementRun updates eight consecutive elements on a GPU: a thread
/// looks up their segment once, and reads and writes them by 16 bytes.

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/support/optimizers.hpp"
#include "kernels/support/warp_runs.hpp"
#include "zero/base/portable.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

// The fp32 master of a weight, for each type of MasterLow in optimizer.hpp.

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

/// Turns of a loop that the compiler makes straight vector code of.
inline constexpr int64_t kStripNumel = 32;

/// Elements between the arithmetic and the lines that are prefetched for it. The host's own
/// prefetcher loses five arrays at every page, and 16-bit elements have little arithmetic a page.
/// This raises 0.80 of the stream rate to 0.90; fp32 weights gain nothing.
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

/// Returns a gradient as the update reads it. If kRound, an fp32 sum is first rounded to T.
template <class T, bool kRound, class G>
ZERO_HOST_DEVICE float gradient_at(const G* grad, int64_t i, float multiplier) {
  const float g = float(grad[i]);
  return (kRound ? float(T(g)) : g) * multiplier;
}

/// True if gradients are rounded to T. If G is T already, rounding changes nothing.
template <class T, class G>
bool rounds_gradient(const OptimizerRule& rule) {
  return rule.round_gradient && !std::is_same_v<T, G>;
}

/// An update element by element, by vectors if kOnHost. A Formula is made of settings, step state
/// and weight decay, and has kLabel and kStates. It turns (master, gradient, states, i) into the
/// new master and updates states[..][i].
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

/// Calls f(formula, rounds) as the rule says: a std::type_identity and a boolean constant.
template <class T, class G, class F>
void with_form_of(const OptimizerRule& rule, const F& f) {
  with_formula(rule.settings, [&](auto formula) {
    if (rounds_gradient<T, G>(rule)) return f(formula, std::true_type());
    return f(formula, std::false_type());
  });
}

/// A table of a few segments of an optimizer's slice, by value in a kernel, so one launch takes
/// all.
struct SegmentTable {
  /// Segments that keep a kernel's arguments below 512 bytes; a usual block has nine.
  static constexpr int kMost = 12;
  int64_t begin[kMost] = {}, end[kMost] = {};
  float weight_decay[kMost] = {};

  /// Copies `segments`. REQUIRES: there are at most kMost.
  explicit SegmentTable(std::span<const OptimizerSegment> segments) {
    for (size_t s = 0; s < segments.size(); ++s) {
      begin[s] = segments[s].begin;
      end[s] = segments[s].end;
      weight_decay[s] = segments[s].weight_decay;
    }
  }

  /// The part of some elements that is in segments.
  enum class Part : uint8_t { none, some, all };

  /// Calls f(weight_decay) and returns `all` if one segment has all of [first, last). Returns
  /// `some` if segments begin or end in between, else `none`. Compares all segments without
  /// branches, at places known to the compiler, which takes less time than the elements' bytes.
  template <class F>
  ZERO_HOST_DEVICE ZERO_INLINE Part with_decay_of(int64_t first, int64_t last, const F& f) const {
    bool all = false, some = false;
    float decay = 0.0f;
    for (int s = 0; s < kMost; ++s) {
      const bool has = begin[s] <= first && last <= end[s];
      some = some || (begin[s] < last && first < end[s]);
      all = all || has;
      decay = has ? weight_decay[s] : decay;
    }
    if (all) f(decay);
    return all ? Part::all : some ? Part::some : Part::none;
  }
};

/// Calls f(begin, end, table) for at most kMost segments at a time, from the first one's begin to
/// the last one's end.
template <class F>
void for_each_table(std::span<const OptimizerSegment> segments, const F& f) {
  while (!segments.empty()) {
    const auto some = segments.first(std::min(segments.size(), size_t(SegmentTable::kMost)));
    f(some.front().begin, some.back().end, SegmentTable(some));
    segments = segments.subspan(some.size());
  }
}

/// True if the arrays, with kStates states, may be read and written in runs.
template <int kStates, class T, class G>
bool takes_runs(const OptimizerArrays<T, G>& a) {
  bool takes = takes_runs(a.weight) && takes_runs(a.low) && takes_runs(a.grad);
  for (int state = 0; state < kStates; ++state) takes = takes && takes_runs(a.states[state]);
  return takes;
}

template <class Formula, class T, class G, bool kRound>
struct ElementRun {
  OptimizerConfig settings;
  const StepState* state;
  OptimizerArrays<T, G> arrays;
  SegmentTable segments;
  bool in_runs;  ///< takes_runs(arrays)

  /// Updates the elements of [first, last) that are in segments. REQUIRES: `first` is a multiple of
  /// kRunNumel.
  ZERO_HOST_DEVICE void operator()(int64_t first, int64_t last) const {
    using Part = SegmentTable::Part;
    Part whole = Part::some;
    if (in_runs && last - first == kRunNumel) {
      whole = segments.with_decay_of(first, last, [&](float decay) { update_run(first, decay); });
    }
    if (whole != Part::some) return;
    for (int64_t i = first; i < last; ++i)
      segments.with_decay_of(i, i + 1, [&](float decay) { update(arrays, decay, i); });
  }

 private:
  ZERO_HOST_DEVICE void update(const OptimizerArrays<T, G>& a, float decay, int64_t i) const {
    ElementUpdate<Formula, T, G, kRound, false>{settings, decay, state, a}(i, i + 1);
  }

  /// Updates a run without a loop, which keeps the arrays, a run long each, in registers.
  template <size_t... i>
  ZERO_HOST_DEVICE void update_each(const OptimizerArrays<T, G>& a, float decay,
                                    std::index_sequence<i...>) const {
    (update(a, decay, int64_t(i)), ...);
  }

  ZERO_HOST_DEVICE void update_run(int64_t first, float decay) const {
    using Low = typename MasterLow<T>::type;
    constexpr bool kHasLow = !std::is_same_v<T, float>;
    if (state->apply == 0) return;
    auto weight = run_at(arrays.weight, first);
    Run<Low> low{};
    if constexpr (kHasLow) low = run_at(arrays.low, first);
    Run<float> states[kMostStates];
    for (int s = 0; s < Formula::kStates; ++s) states[s] = run_at(arrays.states[s], first);
    const Run<G> grad = run_at(arrays.grad, first);
    OptimizerArrays<T, G> run{.weight = weight.at, .low = low.at, .states = {}, .grad = grad.at};
    for (int s = 0; s < Formula::kStates; ++s) run.states[s] = states[s].at;
    update_each(run, decay, std::make_index_sequence<size_t(kRunNumel)>());
    set_run(arrays.weight, first, weight);
    if constexpr (kHasLow) set_run(arrays.low, first, low);
    for (int s = 0; s < Formula::kStates; ++s) set_run(arrays.states[s], first, states[s]);
  }
};

}  // namespace zero::kernels
