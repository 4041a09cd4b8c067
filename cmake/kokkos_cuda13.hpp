#pragma once
/// CUDA 13 changed the signatures of two calls that Kokkos 4.7.0 makes. These overloads have the
/// old ones; nvcc reads this file before everything else. Kokkos 4.7.01 and later do not need it.

#include <cuda_runtime.h>

inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                            const cudaGraphNode_t* to, size_t count) {
  return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}

inline cudaError_t cudaMemPrefetchAsync(const void* memory, size_t bytes, int device,
                                        cudaStream_t stream) {
  const bool to_host = device == cudaCpuDeviceId;
  cudaMemLocation place{};
  place.type = to_host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = to_host ? 0 : device;
  return cudaMemPrefetchAsync(memory, bytes, place, 0, stream);
}
