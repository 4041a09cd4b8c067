#pragma once
/// Which epilogues cuBLASLt takes into a product, which our own kernels take, and what adds the
/// bias that cuBLASLt does not take.

#include "kernels/vendor/gemm.hpp"

namespace zero::kernels::vendor {

/// Whether the library may be asked: its header says what addresses and leading dimensions an
/// epilogue's second matrix has, and that vectors have the type of c. In 16 bits alone: it does not
/// say how exact its GELU is. That it then knows an algorithm is another matter.
bool may_fuse(const GemmSpec& spec, const GemmOperands& operands);

/// Rows of c that the kernels of gelu_products.hpp add before they leave a sum in the scratch.
inline constexpr int64_t kGradientSumRows = 128;

/// Returns true if the kernels of gelu_products.hpp compute it: in bf16, for a linear layer whose
/// weight is [inputs, outputs] and whose results are dense, GELU with a bias, or its gradient.
/// Every array begins at a multiple of 16 bytes, and every matrix has rows of whole 16 bytes, at
/// most 2^30 of them, or 2^17 where there are sums.
bool takes_gelu_products(const GemmSpec& spec, const GemmOperands& operands);

/// c[i, j] += bias[j] for a product in fp32 of 16-bit operands, whose bias cuBLASLt does not add.
/// Asynchronous on `stream`.
void add_bias(Stream& stream, const GemmSpec& spec, const GemmOperands& operands);

}  // namespace zero::kernels::vendor
