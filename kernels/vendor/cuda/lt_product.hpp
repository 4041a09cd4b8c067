#pragma once
/// One product as cuBLASLt wants it described. Included by the cuBLASLt twin alone.

#include <cublasLt.h>

#include <memory>
#include <string>

#include "kernels/vendor/gemm.hpp"

namespace zero::kernels::vendor {

/// Throws Error(kInternal) naming `what` and the library's own text unless `status` is success.
void check_lt(cublasStatus_t status, const char* what);

template <class Opaque, cublasStatus_t (*kDestroy)(Opaque*)>
struct LtDestroy {
  void operator()(Opaque* object) const { static_cast<void>(kDestroy(object)); }
};
using LtDescription =
    std::unique_ptr<cublasLtMatmulDescOpaque_t,
                    LtDestroy<cublasLtMatmulDescOpaque_t, cublasLtMatmulDescDestroy>>;
using LtLayout =
    std::unique_ptr<cublasLtMatrixLayoutOpaque_t,
                    LtDestroy<cublasLtMatrixLayoutOpaque_t, cublasLtMatrixLayoutDestroy>>;
using LtPreference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                    LtDestroy<cublasLtMatmulPreferenceOpaque_t, cublasLtMatmulPreferenceDestroy>>;

/// The library counts columns first: what we call c [m, n] is its [n, m], and so it multiplies
/// b by a. `left` is our b, `right` our a.
struct LtProduct {
  GemmSpec spec;
  int alignment;    ///< bytes that all addresses are multiples of, at most 16
  bool fuses_bias;  ///< the library adds the bias; else it is added afterwards, to fp32
  LtDescription description;
  LtLayout left, right, out;

  LtProduct(const GemmSpec& wanted, int wanted_alignment);

  /// The vector and the second matrix of the epilogue; a, b and c are given with each call. The
  /// library takes their alignment from it when it names algorithms.
  void set_epilogue_operands(const GemmOperands& operands) const;
  /// What the product is called in the file of algorithms.
  std::string name() const;
};

/// Bytes that every address of `operands` is a multiple of: a power of two, at most 256.
int alignment_of(const GemmOperands& operands);

}  // namespace zero::kernels::vendor
