#pragma once
/// Work of the host's threads without Kokkos, also for host code of a build with CUDA: rows of one
/// thread, and, in host files only, loops over independent items by several threads.

#include <omp.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <exception>

#include "zero/base/exact_sum.hpp"
#include "zero/base/portable.hpp"

namespace zero::kernels {

/// A row that one thread works on.
struct HostRow {
  template <class F>
  ZERO_HOST_DEVICE ZERO_INLINE void for_each(int64_t width, const F& f) const {
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) f(j);
  }

  /// Writes to[j] = T(f(j)) for j in [0, width). REQUIRES: f reads no element of `to` but to[j].
  template <class T, class F>
  ZERO_HOST_DEVICE ZERO_INLINE void write(int64_t width, T* to, const F& f) const {
    for_each(width, [=](int64_t j) { to[j] = T(f(j)); });
  }

  /// Returns the sum of f(j), of type A, over j in [0, width).
  template <class A, class F>
  ZERO_HOST_DEVICE ZERO_INLINE A sum(int64_t width, const F& f) const {
    constexpr int kLanes = 32;
    A lane[kLanes] = {};
    const int64_t whole = width / kLanes * kLanes;
    for (int64_t j = 0; j < whole; j += kLanes) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) lane[l] += f(j + l);
    }
    for (int64_t j = whole; j < width; ++j) lane[j - whole] += f(j);
    for (int step = kLanes / 2; step > 0; step /= 2) {
      for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
    }
    return lane[0];
  }
  /// Returns sum(), whose order other rows follow where host and device must agree in bits.
  template <class A, class F>
  ZERO_HOST_DEVICE ZERO_INLINE A sum_as_host(int64_t width, const F& f) const {
    return sum<A>(width, f);
  }

  /// Returns the largest f(j), a float, over j in [0, width). Ignores NaN.
  template <class F>
  ZERO_HOST_DEVICE ZERO_INLINE float maximum(int64_t width, const F& f) const {
    constexpr int kLanes = 32;
    float lane[kLanes];
    for (float& value : lane) value = -INFINITY;
    const int64_t whole = width / kLanes * kLanes;
    for (int64_t j = 0; j < whole; j += kLanes) {
      for (int l = 0; l < kLanes; ++l) lane[l] = lane[l] < f(j + l) ? f(j + l) : lane[l];
    }
    for (int64_t j = whole; j < width; ++j) lane[0] = lane[0] < f(j) ? f(j) : lane[0];
    for (int l = 1; l < kLanes; ++l) lane[0] = lane[0] < lane[l] ? lane[l] : lane[0];
    return lane[0];
  }

  template <class F>
  ZERO_HOST_DEVICE ZERO_INLINE void once(const F& f) const {
    f();
  }
  /// Orders writes of the row's threads before their later reads.
  ZERO_HOST_DEVICE ZERO_INLINE void barrier() const {}

  /// Adds a finite double to a sum that threads of several rows share. The sum is exact, so any
  /// order will do.
  static void add(ExactSum& sum, double finite) {
    const ExactSum::Digits digits = ExactSum::digits_of(finite);
    for (int i = 0; i < 3; ++i) {
      if (digits.part[i] == 0) continue;
      std::atomic_ref(sum.limb[digits.first + i])
          .fetch_add(digits.part[i], std::memory_order_relaxed);
    }
  }
};

/// Calls work(thread, item) for every item in [0, items), thread < threads. Thread t begins with
/// item t, so the same threads take part in every call; free threads take the rest. One item is
/// done by the calling thread, because waking others costs more. Finished on return. Rethrows the
/// first exception of any thread.
template <class Work>
void on_threads(int threads, int64_t items, const Work& work) {
  std::atomic<int64_t> taken{0};
  std::exception_ptr first;
#pragma omp parallel num_threads(threads) if (threads > 1 && items > 1)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    for (int64_t item = thread; item < items; item = team + taken.fetch_add(1)) {
      try {
        work(thread, item);
      } catch (...) {
#pragma omp critical(zero_on_threads)
        if (!first) first = std::current_exception();
      }
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace zero::kernels
