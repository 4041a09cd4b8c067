#pragma once
/// The machine's ceiling for products: the best of ten 4096-cubed ones, in the library that the
/// program uses and, in fp32 where libopenblas.so.0 is installed, in OpenBLAS.

#include <dlfcn.h>

#include <algorithm>
#include <vector>

#include "perf/support/timing.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/product.hpp"

namespace zero::perf {

inline constexpr int64_t kPeakSide = 4096;
inline constexpr double kPeakFlops = 2.0 * kPeakSide * kPeakSide * kPeakSide;

/// Loaded at run time, so that a program links no second BLAS. 0 without OpenBLAS.
inline double openblas_flops(int threads, const float* a, const float* b, float* c) {
  // void cblas_sgemm(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                         float, float*, int);
  using SetThreads = void (*)(int);
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 0.0;
  const auto sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  const auto set_threads = reinterpret_cast<SetThreads>(dlsym(library, "openblas_set_num_threads"));
  if (sgemm == nullptr || set_threads == nullptr) return 0.0;
  constexpr int kRowMajor = 101, kNoTranspose = 111, kSide = int(kPeakSide);
  set_threads(threads);
  const double seconds = best_seconds(10, [&] {
    sgemm(kRowMajor, kNoTranspose, kNoTranspose, kSide, kSide, kSide, 1.0f, a, kSide, b, kSide,
          0.0f, c, kSide);
  });
  return kPeakFlops / seconds;
}

struct Peak {
  double library;   ///< flop/s behind product()
  double openblas;  ///< flop/s; 0 where it is absent or has no such type
  double best() const { return std::max(library, openblas); }
};

template <class T>
Peak measure_peak(Stream& stream) {
  const size_t numel = size_t(kPeakSide * kPeakSide);
  std::vector<T> a(numel, T(0.5f)), b(numel, T(0.25f)), c(numel);
  const kernels::ProductSpec spec{.m = kPeakSide, .n = kPeakSide, .k = kPeakSide};
  const double seconds = best_seconds(10, [&] {
    kernels::product<T, T>(stream, spec, a.data(), b.data(), nullptr, c.data());
    stream.wait();
  });
  double openblas = 0.0;
  if constexpr (sizeof(T) == sizeof(float))
    openblas = openblas_flops(stream.threads(), a.data(), b.data(), c.data());
  return {kPeakFlops / seconds, openblas};
}

}  // namespace zero::perf
