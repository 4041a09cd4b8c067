#pragma once

#include "kernels/vendor/gemm.hpp"

namespace zero::kernels::vendor {

/// c[i, j] += bias[j] for a product in fp32 of 16-bit operands, whose bias cuBLASLt does not add.
/// Asynchronous on `stream`.
void add_bias(Stream& stream, const GemmSpec& spec, const GemmOperands& operands);

}  // namespace zero::kernels::vendor
