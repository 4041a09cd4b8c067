#pragma once
/// The CUDA stream behind a Stream, for files that call CUDA's libraries and need no Kokkos.

#include <cuda_runtime_api.h>

#include "zero/device/stream.hpp"

namespace zero {

cudaStream_t native_stream(const Stream& stream);

}  // namespace zero
