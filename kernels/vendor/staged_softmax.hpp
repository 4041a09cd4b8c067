#pragma once
/// Starts StagedSoftmax, which wants more shared memory than Kokkos gives. Exists on devices alone.

#include "kernels/support/softmax_block.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels::vendor {

/// True if a block of the device in use can stage a row of so many logits.
bool stages_rows(int64_t padded_vocabulary);

/// Computes rows [0, rows) of `row`, whose logits holds_rows() and stages_rows() take. Asynchronous
/// on `stream`. A loss with options has no registers left for a row that is on its way.
template <class T>
void staged_softmax(const Stream& stream, int64_t rows, const HeldRow<T>& row);

}  // namespace zero::kernels::vendor
