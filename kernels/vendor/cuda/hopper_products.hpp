#pragma once
/// The kernels behind gelu_products.hpp, compiled for sm_90a alone.

#include <cuda_runtime_api.h>

#include "kernels/vendor/epilogue_rules.hpp"

namespace zero::kernels::vendor {

/// A GELU product in tiles of 128 x 256 that two warp groups share. Three warps of a third group
/// take GELU of the tile before. They take it of aux as rounded to bf16, as the kernels apart do.
/// Returns false, with nothing queued, if the device does not take the kernel. Asynchronous on
/// `stream`. REQUIRES: takes_gelu_products(spec, operands).
bool run_lagged_product(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands);

/// The same by warps that take turns of four rows, each a store and not four. It has not run on a
/// GPU.
bool run_lagged_product_in_turns(cudaStream_t stream, const GemmSpec& spec,
                                 const GemmOperands& operands);

/// The same in turns for the gradient of GELU. It has not run on a GPU. The product is rounded to
/// bf16 before it is multiplied by the slope at aux, as by the kernels apart. Where there are sums,
/// writes those of each kGradientSumRows rows of c to operands.scratch, fp32 [ceil(m /
/// kGradientSumRows), n].
bool run_lagged_gradient_product(cudaStream_t stream, const GemmSpec& spec,
                                 const GemmOperands& operands);

/// A GELU product in tiles of 128 x 128, of which two warp groups each have their own: one takes
/// GELU while the other multiplies. They take it of the sum in fp32.
bool run_pingpong_product(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands);

}  // namespace zero::kernels::vendor
