#pragma once
/// The matrix product behind product(): one header, a twin for each library.

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels::vendor {

/// c[m, n] = op(a) op(b) (+ bias over n) (+ c); every leading dimension is given.
struct GemmSpec {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  Dtype in, out;             ///< f32 to f32; bf16 to bf16 or f32; f16 to f16 or f32
  bool transpose_a = false;  ///< a is stored [k, m]
  bool transpose_b = false;  ///< b is stored [n, k]
  bool accumulate = false;   ///< out = f32 and no bias
  bool bias = false;
  bool operator==(const GemmSpec&) const = default;
};

struct GemmOperands {
  const void* a;
  const void* b;
  void* c;
  const void* bias = nullptr;  ///< [n] of `in`
};

/// Asynchronous on `stream`. Safe to call from several threads, each with its own stream.
void gemm(Stream& stream, const GemmSpec& spec, const GemmOperands& operands);

/// Name and version of the library.
const char* gemm_library();
/// The instructions that it uses on this processor.
const char* gemm_isa();

}  // namespace zero::kernels::vendor
