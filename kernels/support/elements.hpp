#pragma once
/// Loops over elements that do not depend on each other. On the host a work item is a block whose
/// inner loop the compiler vectorises; on a GPU it is one element.
///
/// A functor first copies its captured structs into locals. Through `this`, the compiler must
/// expect every store to change them, and no loop vectorises. Labels are std::string objects of the
/// file, because Kokkos takes strings, and one made per call would allocate inside a step.

#include <algorithm>
#include <mutex>
#include <string>
#include <type_traits>

#include "kernels/support/row_chunks.hpp"
#include "kernels/support/warp_runs.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/portable.hpp"
#include "zero/device/space.hpp"

namespace zero::kernels {

inline constexpr bool kHostSpace = std::is_same_v<Space, Kokkos::OpenMP>;

inline std::mutex launch_turn;

using Items = Kokkos::RangePolicy<Space, Kokkos::IndexType<int64_t>>;

/// Returns the execution space of a stream. Throws Error(kInternal) for a stream of the host, which
/// takes no kernel.
inline const Space& space_of(const Stream& stream) {
  ZERO_REQUIRE(!stream.is_of_host(), "a kernel of the device on the host's stream");
  return stream.handle().space;
}

/// Returns work items [0, count). Names a chunk size, because to choose one Kokkos 4 builds a
/// default execution space, on the heap, at each call.
inline Items items(const Stream& stream, int64_t count) {
  return Items(space_of(stream), 0, count, Kokkos::ChunkSize(1));
}

/// Queues a kernel, on a device one thread at a time, because Kokkos reads a map of kernels'
/// attributes without a lock. Steps replay recordings and come here once.
template <class Policy, class F>
void launch(const std::string& label, const Policy& policy, const F& f) {
  if constexpr (kHostSpace) {
    Kokkos::parallel_for(label, policy, f);
  } else {
    const std::lock_guard turn(launch_turn);
    const LaunchCheck check;
    Kokkos::parallel_for(label, policy, f);
    check.require_taken(label);
  }
}

template <int64_t kGrain, class F>
struct BlockLoop {
  Interval all;
  F block;

  KOKKOS_FUNCTION void operator()(int64_t b) const {
    const int64_t first = all.begin + b * kGrain;
    block(first, least(first + kGrain, all.end));
  }
};

/// Calls f(first, last) for pieces of `all` of kGrain elements, the last perhaps smaller, in any
/// order.
template <int64_t kGrain, class F>
void for_each_piece(const Stream& stream, const std::string& label, Interval all, const F& f) {
  const int64_t pieces = ceil_div(std::max<int64_t>(all.end - all.begin, 0), kGrain);
  const BlockLoop<kGrain, F> loop{all, f};
  // Waking threads costs more than one piece.
  if (kHostSpace && pieces <= 1) {
    if (pieces == 1) loop(0);
    return;
  }
  launch(label, items(stream, pieces), loop);
}

/// Does what for_each_piece() does, in pieces that suit the machine.
template <class F>
void for_each_block(const Stream& stream, const std::string& label, Interval all, const F& f) {
  for_each_piece<kHostSpace ? kBlockNumel : 1>(stream, label, all, f);
}

/// A loop over elements. ZERO_FLATTEN inlines all calls, however long, because otherwise the loop
/// would not vectorise.
template <class F>
struct ElementLoop {
  F element;
  KOKKOS_FUNCTION ZERO_FLATTEN void operator()(int64_t first, int64_t last) const {
    const F f = element;
#pragma GCC ivdep
    for (int64_t i = first; i < last; ++i) f(i);
  }
};

/// Elements that one host thread finishes before others would be awake: the hidden layer of one
/// token.
inline constexpr int64_t kFewElements = 4 * kBlockNumel;

/// Calls f(i) for every i in [0, numel), in any order. REQUIRES: f writes only elements of i.
template <class F>
void for_each_element(const Stream& stream, const std::string& label, int64_t numel, const F& f) {
  if (kHostSpace && numel <= kFewElements) return ElementLoop<F>{f}(0, numel);
  for_each_block(stream, label, {0, numel}, ElementLoop<F>{f});
}

// out[i] = f(x[i], y[i]) for all elements of arrays. On a GPU a thread has eight consecutive
// elements, in accesses of 16 bytes. One element of two bytes a thread would leave too few bytes
// under way to keep memory busy.

template <class T>
KOKKOS_INLINE_FUNCTION float number_at(const T* array, int64_t i) {
  if constexpr (std::is_same_v<T, None>)
    return 0.0f;
  else
    return float(array[i]);
}

/// The inputs and the output of a map; the output may be an input.
template <class Out, class X, class Y = None>
struct Mapped {
  const X* x;
  const Y* y;  ///< null for None
  Out* out;
};

template <class F, class Out, class X, class Y>
struct Map {
  Mapped<Out, X, Y> arrays;
  F f;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    arrays.out[i] = Out(f(number_at(arrays.x, i), number_at(arrays.y, i)));
  }
};

/// A map of eight elements, or of the rest.
template <class F, class Out, class X, class Y>
struct MapOfRun {
  Map<F, Out, X, Y> map;
  int64_t numel;

  KOKKOS_FUNCTION void operator()(int64_t run) const {
    const int64_t first = run * kRunNumel;
    if (first + kRunNumel > numel) {
      for (int64_t i = first; i < numel; ++i) map(i);
      return;
    }
    const Run<X> x = run_at(map.arrays.x, first);
    const Run<Y> y = run_at(map.arrays.y, first);
    Run<Out> out;
    for (int k = 0; k < kRunNumel; ++k) out.at[k] = Out(map.f(float(x.at[k]), float(y.at[k])));
    set_run(map.arrays.out, first, out);
  }
};

/// Writes out[i] = f(x[i], y[i]) for i in [0, numel); y[i] is 0 if Y is None. Asynchronous on
/// `stream`.
template <class F, class Out, class X, class Y>
void map_elements(const Stream& stream, const std::string& label, int64_t numel,
                  const Mapped<Out, X, Y>& arrays, const F& f) {
  const Map<F, Out, X, Y> map{arrays, f};
  if constexpr (!kHostSpace) {
    if (takes_runs(arrays.x) && takes_runs(arrays.y) && takes_runs(arrays.out)) {
      const MapOfRun<F, Out, X, Y> runs{map, numel};
      return for_each_element(stream, label, ceil_div(numel, kRunNumel), runs);
    }
  }
  for_each_element(stream, label, numel, map);
}

}  // namespace zero::kernels
