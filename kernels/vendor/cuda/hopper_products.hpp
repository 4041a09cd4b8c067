#pragma once
/// The kernels behind gelu_products.hpp, compiled for sm_90a alone.

#include <cuda_runtime_api.h>

#include "kernels/vendor/gemm.hpp"

namespace zero::kernels::vendor {

/// GeluProduct::run for tiles of 128 x 256 that two warp groups share. Three warps of a third group
/// take GELU of the tile before. They take it of aux as rounded to bf16, as the kernels apart do.
bool run_lagged_product(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands);

/// GeluProduct::run for tiles of 128 x 128, of which two warp groups each have their own: one takes
/// GELU while the other multiplies. They take it of the sum in fp32.
bool run_pingpong_product(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands);

}  // namespace zero::kernels::vendor
