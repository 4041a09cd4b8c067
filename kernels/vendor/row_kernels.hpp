#pragma once
/// Starts kernels whose blocks read rows by way of shared memory. Kokkos reaches shared memory by
/// addresses that cost registers, and gives a block 48 KiB at most. Exists on devices alone.

#include "kernels/support/norm_grad_rows.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels::vendor {

/// Computes the gradient that `code`, which fits(), describes, but for the trees over its chunks.
/// Asynchronous on `stream`.
template <class T, bool kCentred>
void norm_gradient(const Stream& stream, const NormGradInUse<T, kCentred>& code);

}  // namespace zero::kernels::vendor
