#pragma once
/// Kernels that want more of a GPU than Kokkos gives: shared memory at addresses that cost no
/// registers, more of it than 48 KiB a block, or a bound on registers. For devices alone.

#include "kernels/support/column_tiles.hpp"
#include "kernels/support/norm_grad_rows.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels::vendor {

/// Computes NormForwardRows. Returns false, with nothing done, if rows are too wide for a warp's
/// registers. Asynchronous on `stream`.
template <class T>
bool norm_forward(const Stream& stream, const NormExtents& extents, float epsilon,
                  const LayerNormArrays<T>& arrays);

/// Computes NormGradRows, but for the trees over its chunks. Returns false, with nothing done, if
/// rows are too wide for a block's registers and shared memory. Asynchronous on `stream`.
template <class T, bool kCentred>
bool norm_gradient(const Stream& stream, const NormGradShape& shape,
                   const LayerNormGradArrays<T>& arrays);

/// Computes the sums of each chunk. Asynchronous on `stream`.
template <class T>
void add_column_tiles(const Stream& stream, const ColumnTiles<T>& code);

}  // namespace zero::kernels::vendor
