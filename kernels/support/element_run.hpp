#pragma once
/// The update of elements on a GPU: a thread has eight that follow each other, looks up once which
/// segment has them, and reads and writes them by 16 bytes.

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/support/element_update.hpp"
#include "kernels/support/run.hpp"
#include "zero/base/portable.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

/// A few segments of an optimizer's slice, by value in a kernel, so that one launch takes them all.
struct SegmentTable {
  /// A kernel's arguments end below 512 bytes; a usual block has nine segments.
  static constexpr int kMost = 12;
  int64_t begin[kMost] = {}, end[kMost] = {};
  float weight_decay[kMost] = {};

  /// Holds at most kMost segments.
  explicit SegmentTable(std::span<const OptimizerSegment> segments) {
    for (size_t s = 0; s < segments.size(); ++s) {
      begin[s] = segments[s].begin;
      end[s] = segments[s].end;
      weight_decay[s] = segments[s].weight_decay;
    }
  }

  /// How many of some elements are in segments.
  enum class Part : uint8_t { none, some, all };

  /// Whether one segment has all of [first, last), and then calls f(weight_decay); `some` where
  /// segments end or begin in between. All are compared, without a branch and at places that the
  /// compiler knows, which takes less time than the elements' bytes.
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

/// Calls f(begin, end, table) for at most kMost segments at a time: the elements from the first
/// one's begin to the last one's end.
template <class F>
void for_each_table(std::span<const OptimizerSegment> segments, const F& f) {
  while (!segments.empty()) {
    const auto some = segments.first(std::min(segments.size(), size_t(SegmentTable::kMost)));
    f(some.front().begin, some.back().end, SegmentTable(some));
    segments = segments.subspan(some.size());
  }
}

/// Whether arrays of so many states may be read and written in runs.
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

  /// Works on those of elements [first, last) that a segment has; `first` is a multiple of
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
    for (int k = 0; k < kRunNumel; ++k) update(run, decay, k);
    set_run(arrays.weight, first, weight);
    if constexpr (kHasLow) set_run(arrays.low, first, low);
    for (int s = 0; s < Formula::kStates; ++s) set_run(arrays.states[s], first, states[s]);
  }
};

}  // namespace zero::kernels
