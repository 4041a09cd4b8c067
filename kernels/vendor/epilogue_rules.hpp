#pragma once
/// The epilogues that cuBLASLt and our own kernels take into a product, and the addition of a bias
/// that cuBLASLt does not take.

#include "kernels/vendor/gemm.hpp"

namespace zero::kernels::vendor {

/// True if the library may be asked, in 16 bits alone, because its header does not say how exact
/// its GELU is. The header says what addresses and leading dimensions an epilogue's second matrix
/// has, and that vectors have the type of c. The library may still know no algorithm.
bool may_fuse(const GemmSpec& spec, const GemmOperands& operands);

/// Rows of c that the kernels of gelu_products.hpp add before they leave a sum in the scratch.
inline constexpr int64_t kGradientSumRows = 128;

/// True if the kernels of gelu_products.hpp compute the product: GELU with a bias, or its gradient,
/// in bf16, for a linear layer with weight [inputs, outputs] and dense results. Every array begins
/// at a multiple of 16 bytes. Every matrix has rows of whole 16 bytes, at most 2^30 of them, or
/// 2^17 if there are sums.
bool takes_gelu_products(const GemmSpec& spec, const GemmOperands& operands);

/// Adds bias[j] to c[i, j], for a product in fp32 of 16-bit operands, whose bias cuBLASLt does not
/// add. Asynchronous on `stream`.
void add_bias(Stream& stream, const GemmSpec& spec, const GemmOperands& operands);

}  // namespace zero::kernels::vendor
