#pragma once
/// A product as callers give it, as vendor::gemm() wants it.

#include "kernels/vendor/gemm.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {

inline int64_t leading(int64_t given, int64_t dense) {
  ZERO_REQUIRE(given == 0 || given >= dense, "leading dimension ", given, " of rows of ", dense);
  return given == 0 ? dense : given;
}

/// `in` and `out` are of the operands; `bias`: there is one. Throws Error(kInternal) for extents
/// below 1, for sums in 16 bits and for both a bias and accumulate.
inline vendor::GemmSpec gemm_spec(const ProductSpec& spec, Dtype in, Dtype out, bool bias) {
  ZERO_REQUIRE(spec.m > 0 && spec.n > 0 && spec.k > 0, "product of ", spec.m, " x ", spec.n, " x ",
               spec.k, ": every extent must be at least 1");
  ZERO_REQUIRE(!spec.accumulate || out == Dtype::f32, "product would accumulate in ", name_of(out),
               ": sums stay in fp32, so give a float c");
  ZERO_REQUIRE(!bias || !spec.accumulate, "product with both a bias and accumulate: choose one");
  return {.m = spec.m,
          .n = spec.n,
          .k = spec.k,
          .lda = leading(spec.lda, spec.transpose_a ? spec.m : spec.k),
          .ldb = leading(spec.ldb, spec.transpose_b ? spec.k : spec.n),
          .ldc = leading(spec.ldc, spec.n),
          .in = in,
          .out = out,
          .transpose_a = spec.transpose_a,
          .transpose_b = spec.transpose_b,
          .accumulate = spec.accumulate,
          .bias = bias};
}

}  // namespace zero::kernels
