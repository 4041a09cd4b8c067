#pragma once
/// out[i] = f(x[i], y[i]) for all elements of arrays. On a GPU a thread has eight elements that
/// follow each other, in accesses of 16 bytes: with one element of two bytes a thread, too few
/// bytes are under way to keep memory busy.

#include "kernels/support/elements.hpp"
#include "kernels/support/warp_runs.hpp"

namespace zero::kernels {

template <class T>
KOKKOS_INLINE_FUNCTION float number_at(const T* array, int64_t i) {
  if constexpr (std::is_same_v<T, None>)
    return 0.0f;
  else
    return float(array[i]);
}

/// Inputs and where the results go, which may be an input.
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

/// Eight elements, or what is left of them.
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

/// f takes two numbers, the second of which is 0 where there is one array.
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
