// The products of a GPT-2 124M step at 1024 rows, forward (NN), gradient of the input (NT) and of
// the weight (TN), in fp32 and bf16, on one and two threads: GFLOP/s and the share of the peak that
// the same run measures.

#include <Kokkos_Core.hpp>
#include <cstdio>
#include <string>

#include "perf/support/peak.hpp"
#include "zero/device/arena.hpp"

namespace zero::perf {
namespace {

using kernels::product;
using kernels::ProductSpec;

struct Layer {
  const char* name;
  int64_t in, out;
};
constexpr Layer kLayers[] = {
    {"qkv", 768, 2304}, {"proj", 768, 768}, {"up", 768, 3072}, {"down", 3072, 768}};
constexpr int64_t kRows = 1024, kClasses = 50304, kWidth = 768;

/// Room for the largest operands of each place.
struct Arrays {
  Arena a, b, c;
  explicit Arrays(int64_t numel) : a(numel * 4), b(numel * 4), c(numel * 4) {}
};

template <class T>
void fill(const Arena& arena) {
  T* values = reinterpret_cast<T*>(arena.data());
  for (int64_t i = 0; i < arena.bytes() / int64_t(sizeof(T)); ++i)
    values[i] = T(float(i % 13 - 6) / 8.0f);
}

template <class T, class Out>
double flops(Stream& stream, const ProductSpec& spec, const Arrays& arrays) {
  const double seconds = best_seconds(5, [&] {
    product<T, Out>(stream, spec, reinterpret_cast<const T*>(arrays.a.data()),
                    reinterpret_cast<const T*>(arrays.b.data()), nullptr,
                    reinterpret_cast<Out*>(arrays.c.data()));
    stream.wait();
  });
  return 2.0 * double(spec.m) * double(spec.n) * double(spec.k) / seconds;
}

struct Line {
  const char* name;
  double forward, dx, dw, dw_accumulated;
};

void print(const Line& line, double peak) {
  std::printf("  %-16s", line.name);
  for (double rate : {line.forward, line.dx, line.dw, line.dw_accumulated})
    std::printf("  %7.1f (%3.0f %%)", rate * 1e-9, 100.0 * rate / peak);
  std::printf("\n");
  std::fflush(stdout);
}

template <class T>
Line layer_line(Stream& stream, const Layer& layer, const Arrays& arrays) {
  const ProductSpec dw{.m = layer.in, .n = layer.out, .k = kRows, .transpose_a = true};
  ProductSpec sum = dw;
  sum.accumulate = true;
  return {
      layer.name, flops<T, T>(stream, {.m = kRows, .n = layer.out, .k = layer.in}, arrays),
      flops<T, T>(stream, {.m = kRows, .n = layer.in, .k = layer.out, .transpose_b = true}, arrays),
      flops<T, T>(stream, dw, arrays), flops<T, float>(stream, sum, arrays)};
}

/// The tied head as classifier() uses it: the table is [classes, width], so logits are NT and dx
/// NN; the gradient of the logits has fp32 row strides.
template <class T>
Line head_line(Stream& stream, int64_t chunk, const Arrays& arrays) {
  const int64_t ld = kClasses * int64_t(sizeof(float) / sizeof(T));
  const ProductSpec dw{.m = kClasses, .n = kWidth, .k = chunk, .transpose_a = true, .lda = ld};
  ProductSpec sum = dw;
  sum.accumulate = true;
  return {chunk == 256 ? "head, 256 rows" : "head, 1024 rows",
          flops<T, float>(stream, {.m = chunk, .n = kClasses, .k = kWidth, .transpose_b = true},
                          arrays),
          flops<T, T>(stream, {.m = chunk, .n = kWidth, .k = kClasses, .lda = ld}, arrays),
          flops<T, T>(stream, dw, arrays), flops<T, float>(stream, sum, arrays)};
}

template <class T>
void measure(int threads) {
  Stream stream(threads);
  adopt_threads(stream);
  const Arrays arrays(kClasses * 1024);
  fill<T>(arrays.a);
  fill<T>(arrays.b);
  const Peak peak = measure_peak<T>(stream);
  std::printf(
      "%s, %d threads: peak of %s %.1f GFLOP/s, of OpenBLAS %.1f\n"
      "  %-16s  %-15s  %-15s  %-15s  %-15s\n",
      std::string(name_of(dtype_of<T>())).c_str(), threads, kernels::product_library(),
      peak.library * 1e-9, peak.openblas * 1e-9, "layer", "forward", "dx", "dw", "dw += in fp32");
  for (const Layer& layer : kLayers) print(layer_line<T>(stream, layer, arrays), peak.best());
  for (int64_t chunk : {256, 1024}) print(head_line<T>(stream, chunk, arrays), peak.best());
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  for (int threads : {1, 2}) {
    zero::perf::measure<float>(threads);
    zero::perf::measure<zero::bf16>(threads);
  }
}
