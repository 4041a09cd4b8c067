#pragma once
/// What cuBLASLt asks of a product with an epilogue, as plain code.

#include "kernels/vendor/gemm.hpp"

namespace zero::kernels::vendor {

/// Whether the library may be asked: its header says what addresses and leading dimensions an
/// epilogue's second matrix has, and that vectors have the type of c. In 16 bits alone: it does not
/// say how exact its GELU is. That it then knows an algorithm is another matter.
bool may_fuse(const GemmSpec& spec, const GemmOperands& operands);

}  // namespace zero::kernels::vendor
