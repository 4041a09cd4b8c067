#pragma once
/// For the files of this room and of its users that call CUDA: every status is looked at.

#include <cuda_runtime_api.h>

#include <string_view>

#include "zero/base/error.hpp"

namespace zero {

/// Throws Error(kDoesNotFit) where memory has run out and Error(kInternal) for any other status but
/// cudaSuccess, naming `what` and CUDA's own text.
inline void check_cuda(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  const bool full = status == cudaErrorMemoryAllocation;
  refuse(full ? Exit::kDoesNotFit : Exit::kInternal, what,
         " failed in CUDA: ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")");
}

/// Where nothing can be thrown: a warning on stderr instead.
void warn_cuda(cudaError_t status, std::string_view what) noexcept;

}  // namespace zero
