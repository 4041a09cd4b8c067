#pragma once
/// The second half of a sum of columns, for kernels that make the first half: sums of chunks add
/// along a tree.

#include <cstdint>

#include "zero/device/stream.hpp"

namespace zero::kernels {

/// Writes out[j] = T(sum over c of partial[c, j]), in fp32 along a balanced tree. Overwrites
/// `partial` [chunks, columns]; at most 1024 chunks on a GPU. out [columns]. Asynchronous on
/// `stream`.
template <class T>
void add_chunk_sums(Stream& stream, int64_t chunks, int64_t columns, float* partial, T* out);

}  // namespace zero::kernels
