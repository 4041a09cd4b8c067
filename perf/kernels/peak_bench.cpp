// The ceiling for products on this machine: best of ten 4096-cubed ones over oneDNN and OpenBLAS.
//   perf_kernels_peak THREADS fp32|bf16      prints one number, GFLOP/s

#include <Kokkos_Core.hpp>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "perf/support/peak.hpp"

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const bool half = argc > 2 && std::string_view(argv[2]) == "bf16";
  const Kokkos::ScopeGuard kokkos(
      Kokkos::InitializationSettings().set_num_threads(threads).set_disable_warnings(true));
  zero::Stream stream(threads);
  zero::adopt_threads(stream);
  const double flops = half ? zero::perf::measure_peak<zero::bf16>(stream).best()
                            : zero::perf::measure_peak<float>(stream).best();
  std::printf("%.1f\n", flops / 1e9);
  return 0;
}
