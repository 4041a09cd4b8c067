#include "tests/support/fake_cuda.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace zero::testing {

FakeCuda& fake_cuda() {
  static FakeCuda cuda;
  return cuda;
}

}  // namespace zero::testing

namespace {

using zero::testing::fake_cuda;

std::mutex mutex;
thread_local int used = 0;
thread_local cudaError_t last = cudaSuccess;

constexpr size_t kBytes = size_t(80) << 30;

cudaError_t called(const char* name) {
  const std::lock_guard lock(mutex);
  fake_cuda().calls.push_back({name, used});
  return last = fake_cuda().failing == name ? fake_cuda().status : cudaSuccess;
}

}  // namespace

cudaError_t cudaGetLastError() { return std::exchange(last, cudaSuccess); }

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 12080;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = fake_cuda().devices;
  return called("cudaGetDeviceCount");
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  std::snprintf(properties->name, sizeof properties->name, "NVIDIA H100");
  for (int i = 0; i < 16; ++i) properties->uuid.bytes[i] = char(16 * device + i);
  properties->totalGlobalMem = kBytes;
  properties->multiProcessorCount = 132;
  properties->major = 9;
  properties->minor = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 9;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int device) {
  std::snprintf(id, size_t(bytes), "0000:%02x:00.0", device);
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  const cudaError_t status = called("cudaSetDevice");
  if (status == cudaSuccess) used = device;
  return status;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = kBytes;
  return called("cudaMemGetInfo");
}
cudaError_t cudaMalloc(void** block, size_t bytes) {
  const cudaError_t status = called("cudaMalloc");
  *block = status == cudaSuccess ? std::malloc(bytes) : nullptr;
  return status;
}
cudaError_t cudaFree(void* block) {
  std::free(block);
  return called("cudaFree");
}
cudaError_t cudaHostRegister(void*, size_t, unsigned) { return called("cudaHostRegister"); }
cudaError_t cudaHostUnregister(void*) { return called("cudaHostUnregister"); }
cudaError_t cudaMemsetAsync(void* block, int value, size_t bytes, cudaStream_t) {
  std::memset(block, value, bytes);
  return called("cudaMemsetAsync");
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return called("cudaMemcpyAsync");
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return called("cudaStreamCreateWithFlags");
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return called("cudaStreamSynchronize"); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return called("cudaStreamDestroy"); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = nullptr;
  return called("cudaEventCreateWithFlags");
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return called("cudaEventDestroy"); }
