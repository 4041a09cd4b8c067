#pragma once
/// What the functions of tests/support/fake_cuda/cuda_runtime_api.h do and have done.

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

namespace zero::testing {

/// A call that acts on a device, and which one the calling thread used. A thread that never chose
/// uses the first one.
struct CudaCall {
  std::string name;
  int device;
};

struct FakeCuda {
  int devices = 1;
  /// The status of each call of a function by its name, "cudaMalloc"; any other succeeds.
  std::string failing = {};
  cudaError_t status = cudaSuccess;
  std::vector<CudaCall> calls = {};
};

/// Returns the one CUDA of this process.
FakeCuda& fake_cuda();

}  // namespace zero::testing
