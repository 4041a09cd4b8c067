#pragma once
/// The kernels behind gelu_products.hpp, compiled for sm_90a alone.

#include <cuda_runtime_api.h>

#include "kernels/vendor/epilogue_rules.hpp"

namespace zero::kernels::vendor {

/// Queues a GELU product in tiles of 128 x 256 that two warp groups share. Three warps of a third
/// group take GELU of the tile before, from aux as rounded to bf16, as the kernels apart do.
/// Returns false, with nothing queued, if the device does not take the kernel. Asynchronous on
/// `stream`. REQUIRES: takes_gelu_products(spec, operands).
bool run_lagged_product(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands);

/// Does what run_lagged_product() does, by warps that take turns of four rows, each a store and not
/// four. Not yet run on a GPU.
bool run_lagged_product_in_turns(cudaStream_t stream, const GemmSpec& spec,
                                 const GemmOperands& operands);

/// Queues a product with the gradient of GELU, in such turns of four rows. Not yet run on a GPU.
/// Rounds the product to bf16 before it is multiplied by the slope at aux, as the kernels apart do.
/// If there are sums, writes those of each kGradientSumRows rows of c to operands.scratch, fp32
/// [ceil(m / kGradientSumRows), n]. Returns as run_lagged_product() does.
bool run_lagged_gradient_product(cudaStream_t stream, const GemmSpec& spec,
                                 const GemmOperands& operands);

/// Queues a GELU product in tiles of 128 x 128, one for each of two warp groups: one takes GELU of
/// its fp32 sums while the other multiplies. Returns as run_lagged_product() does.
bool run_pingpong_product(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands);

}  // namespace zero::kernels::vendor
