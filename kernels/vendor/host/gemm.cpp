#include "kernels/vendor/host/gemm.hpp"

#include <algorithm>

#include "kernels/support/host_threads.hpp"
#include "kernels/vendor/gemm.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor {
namespace {

/// Sides of a block. Blocks of a, b and c in fp32 take 12 MiB; widening an element is 1/2048 of its
/// use.
constexpr int64_t kBlock = 1024;

struct Matrix {
  int64_t rows, columns, ld;
};

template <class T>
void widen(const Matrix& from, const T* source, float* target, int threads) {
  on_threads(threads, ceil_div(from.rows, kBlock / 8), [&](int, int64_t strip) {
    const int64_t begin = strip * (kBlock / 8), end = std::min(from.rows, begin + kBlock / 8);
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < from.columns; ++j)
        target[i * from.columns + j] = float(source[i * from.ld + j]);
  });
}

template <class T>
void narrow(const Matrix& to, const float* source, T* target, int threads) {
  on_threads(threads, ceil_div(to.rows, kBlock / 8), [&](int, int64_t strip) {
    const int64_t begin = strip * (kBlock / 8), end = std::min(to.rows, begin + kBlock / 8);
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < to.columns; ++j)
        target[i * to.ld + j] = T(source[i * to.columns + j]);
  });
}

/// The part of a product whose operands are in fp32 at one time.
struct Part {
  int64_t row, rows, column, columns, depth, depths;
};

struct Scratch {
  float *a, *b, *c, *bias;
};

Scratch scratch_of_thread() {
  thread_local HostBuffer buffer;
  constexpr int64_t kNumel = kBlock * kBlock;
  float* base = reinterpret_cast<float*>(buffer.reserve((3 * kNumel + kBlock) * sizeof(float)));
  return {base, base + kNumel, base + 2 * kNumel, base + 3 * kNumel};
}

template <class T>
void widen_operands(const GemmSpec& spec, const GemmOperands& operands, const Part& part,
                    const Scratch& wide, int threads) {
  const auto* a = static_cast<const T*>(operands.a);
  const auto* b = static_cast<const T*>(operands.b);
  if (spec.transpose_a)
    widen(Matrix{part.depths, part.rows, spec.lda}, a + part.depth * spec.lda + part.row, wide.a,
          threads);
  else
    widen(Matrix{part.rows, part.depths, spec.lda}, a + part.row * spec.lda + part.depth, wide.a,
          threads);
  if (spec.transpose_b)
    widen(Matrix{part.columns, part.depths, spec.ldb}, b + part.column * spec.ldb + part.depth,
          wide.b, threads);
  else
    widen(Matrix{part.depths, part.columns, spec.ldb}, b + part.depth * spec.ldb + part.column,
          wide.b, threads);
}

/// Returns the product of a part's fp32 blocks. A c that is fp32 itself is added to in place.
GemmSpec spec_of_part(const GemmSpec& spec, const Part& part) {
  const bool first = part.depth == 0;
  return {.m = part.rows,
          .n = part.columns,
          .k = part.depths,
          .lda = spec.transpose_a ? part.rows : part.depths,
          .ldb = spec.transpose_b ? part.depths : part.columns,
          .ldc = spec.out == Dtype::f32 ? spec.ldc : part.columns,
          .in = Dtype::f32,
          .out = Dtype::f32,
          .transpose_a = spec.transpose_a,
          .transpose_b = spec.transpose_b,
          .accumulate = !first || spec.accumulate,
          .bias = first && spec.bias};
}

template <class T>
void multiply_strip(const GemmSpec& spec, const GemmOperands& operands, Part part, int threads) {
  const Scratch wide = scratch_of_thread();
  const bool direct = spec.out == Dtype::f32;
  const int64_t at = part.row * spec.ldc + part.column;
  float* c = direct ? static_cast<float*>(operands.c) + at : wide.c;
  if (spec.bias)
    widen(Matrix{1, part.columns, spec.n}, static_cast<const T*>(operands.bias) + part.column,
          wide.bias, 1);
  for (part.depth = 0; part.depth < spec.k; part.depth += kBlock) {
    part.depths = std::min(kBlock, spec.k - part.depth);
    widen_operands<T>(spec, operands, part, wide, threads);
    host_gemm(spec_of_part(spec, part), {.a = wide.a, .b = wide.b, .c = c, .bias = wide.bias},
              threads);
  }
  if (!direct)
    narrow(Matrix{part.rows, part.columns, spec.ldc}, wide.c, static_cast<T*>(operands.c) + at,
           threads);
}

/// Calls visit(part) with each strip of c, over all of k.
template <class Visit>
void for_strips(const GemmSpec& spec, const Visit& visit) {
  for (int64_t row = 0; row < spec.m; row += kBlock)
    for (int64_t column = 0; column < spec.n; column += kBlock)
      visit(Part{.row = row,
                 .rows = std::min(kBlock, spec.m - row),
                 .column = column,
                 .columns = std::min(kBlock, spec.n - column),
                 .depth = 0,
                 .depths = 0});
}

template <class T>
void multiply_strips(const GemmSpec& spec, const GemmOperands& operands, int threads) {
  for_strips(spec, [&](const Part& part) { multiply_strip<T>(spec, operands, part, threads); });
}

/// Makes all that widened_gemm() makes.
void prepare_strips(const GemmSpec& spec, int threads) {
  scratch_of_thread();
  for_strips(spec, [&](Part part) {
    for (part.depth = 0; part.depth < spec.k; part.depth += kBlock) {
      part.depths = std::min(kBlock, spec.k - part.depth);
      prepare_host_gemm(spec_of_part(spec, part), threads);
    }
  });
}

}  // namespace

void widened_gemm(const GemmSpec& spec, const GemmOperands& operands, int threads) {
  if (spec.in == Dtype::bf16)
    multiply_strips<bf16>(spec, operands, threads);
  else
    multiply_strips<f16>(spec, operands, threads);
}

void set_gemm_rules(const GemmRules&) {}

void prepare_gemm(Stream& stream, const GemmSpec& spec) {
  if (multiplies(spec.in))
    prepare_host_gemm(spec, stream.threads());
  else
    prepare_strips(spec, stream.threads());
}

void gemm(Stream& stream, const GemmSpec& spec, const GemmOperands& operands) {
  if (multiplies(spec.in))
    host_gemm(spec, operands, stream.threads());
  else
    widened_gemm(spec, operands, stream.threads());
}

bool has_epilogues() { return false; }

void fused_gemm(Stream&, const GemmSpec&, const GemmOperands&, const Apart& apart) { apart.run(); }

void run_faster(Stream&, const GemmSpec&, const GemmOperands&, float*&, const Apart& first,
                const Apart&) {
  first.run();
}

}  // namespace zero::kernels::vendor
