#pragma once
/// The names of the GPU's runtime, CUDA's here, and what checks its statuses: the files under gpu/
/// of device and comm say these, and another vendor's back end gives the names its own. Only those
/// files and the vendor's kernels include it.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"

namespace zero {

using gpuDeviceProp = cudaDeviceProp;
using gpuError_t = cudaError_t;
using gpuEvent_t = cudaEvent_t;
using gpuGraphExec_t = cudaGraphExec_t;
using gpuGraph_t = cudaGraph_t;
using gpuStream_t = cudaStream_t;
using gpuUUID_t = cudaUUID_t;

#define gpuDevAttrComputeCapabilityMajor cudaDevAttrComputeCapabilityMajor
#define gpuDeviceGetAttribute cudaDeviceGetAttribute
#define gpuDeviceGetPCIBusId cudaDeviceGetPCIBusId
#define gpuDriverGetVersion cudaDriverGetVersion
#define gpuErrorUnloading cudaErrorCudartUnloading
#define gpuErrorMemoryAllocation cudaErrorMemoryAllocation
#define gpuErrorNotReady cudaErrorNotReady
#define gpuEventBlockingSync cudaEventBlockingSync
#define gpuEventCreateWithFlags cudaEventCreateWithFlags
#define gpuEventDestroy cudaEventDestroy
#define gpuEventDisableTiming cudaEventDisableTiming
#define gpuEventElapsedTime cudaEventElapsedTime
#define gpuEventQuery cudaEventQuery
#define gpuEventRecord cudaEventRecord
#define gpuEventSynchronize cudaEventSynchronize
#define gpuFree cudaFree
#define gpuGetDeviceCount cudaGetDeviceCount
#define gpuGetDeviceProperties cudaGetDeviceProperties
#define gpuGetErrorName cudaGetErrorName
#define gpuGetErrorString cudaGetErrorString
#define gpuGetLastError cudaGetLastError
#define gpuGraphDestroy cudaGraphDestroy
#define gpuGraphExecDestroy cudaGraphExecDestroy
#define gpuGraphInstantiate cudaGraphInstantiate
#define gpuGraphLaunch cudaGraphLaunch
#define gpuHostRegister cudaHostRegister
#define gpuHostRegisterMapped cudaHostRegisterMapped
#define gpuHostRegisterPortable cudaHostRegisterPortable
#define gpuHostUnregister cudaHostUnregister
#define gpuMalloc cudaMalloc
#define gpuMemGetInfo cudaMemGetInfo
#define gpuMemcpyAsync cudaMemcpyAsync
#define gpuMemcpyDefault cudaMemcpyDefault
#define gpuMemsetAsync cudaMemsetAsync
#define gpuSetDevice cudaSetDevice
#define gpuStreamBeginCapture cudaStreamBeginCapture
#define gpuStreamCaptureModeThreadLocal cudaStreamCaptureModeThreadLocal
#define gpuStreamCreateWithFlags cudaStreamCreateWithFlags
#define gpuStreamDestroy cudaStreamDestroy
#define gpuStreamEndCapture cudaStreamEndCapture
#define gpuStreamNonBlocking cudaStreamNonBlocking
#define gpuStreamSynchronize cudaStreamSynchronize
#define gpuStreamWaitEvent cudaStreamWaitEvent
#define gpuSuccess cudaSuccess

/// Throws Error(kDoesNotFit) where memory has run out and Error(kInternal) for any other status but
/// gpuSuccess, naming `what` and CUDA's own text. What is told here does not meet the next caller.
inline void check_gpu(gpuError_t status, std::string_view what) {
  if (status == gpuSuccess) return;
  static_cast<void>(gpuGetLastError());
  const bool full = status == gpuErrorMemoryAllocation;
  refuse(full ? Exit::kDoesNotFit : Exit::kInternal, what,
         " failed in CUDA: ", gpuGetErrorString(status), " (", gpuGetErrorName(status), ")");
}

/// Where nothing can be thrown: a warning on stderr instead, not by warn(), which may throw.
void warn_gpu(gpuError_t status, std::string_view what) noexcept;

/// Tells the calling thread's runtime to use the device that use_device() has named: the setting is
/// a thread's own.
void use_chosen_device();

/// The runtime's stream that a Stream holds.
gpuStream_t native_stream(const Stream& stream);

/// Throws the Error(kDoesNotFit) of a block that could not be taken, with the bytes free now
/// and what else is known of it.
[[noreturn]] void refuse_device_memory(int64_t bytes, const std::string& more);
/// Returns when the block is zeros.
void clear_device_memory(std::byte* block, int64_t bytes);

/// An event of the device that the thread uses; throws Error(kInternal) where there is none.
class GpuEvent {
 public:
  explicit GpuEvent(unsigned flags) {
    check_gpu(gpuEventCreateWithFlags(&event_, flags), "making an event");
  }
  ~GpuEvent() { warn_gpu(gpuEventDestroy(event_), "giving an event back"); }
  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;

  gpuEvent_t get() const { return event_; }

 private:
  gpuEvent_t event_ = nullptr;
};

}  // namespace zero
