#pragma once
/// Vendor-neutral names of the GPU runtime (CUDA's here), and the checks of its statuses. Another
/// vendor's back end gives these names to its own. Files under gpu/ of device and comm, and the
/// vendor's kernels, include this header. Elsewhere it breaks builds without CUDA.

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
#define gpuDeviceGetStreamPriorityRange cudaDeviceGetStreamPriorityRange
#define gpuDriverGetVersion cudaDriverGetVersion
#define gpuErrorDevicesUnavailable cudaErrorDevicesUnavailable
#define gpuErrorECCUncorrectable cudaErrorECCUncorrectable
#define gpuErrorHardwareStackError cudaErrorHardwareStackError
#define gpuErrorLaunchFailure cudaErrorLaunchFailure
#define gpuErrorMemoryAllocation cudaErrorMemoryAllocation
#define gpuErrorMpsClientTerminated cudaErrorMpsClientTerminated
#define gpuErrorMpsConnectionFailed cudaErrorMpsConnectionFailed
#define gpuErrorMpsMaxClientsReached cudaErrorMpsMaxClientsReached
#define gpuErrorMpsMaxConnectionsReached cudaErrorMpsMaxConnectionsReached
#define gpuErrorMpsRpcFailure cudaErrorMpsRpcFailure
#define gpuErrorMpsServerNotReady cudaErrorMpsServerNotReady
#define gpuErrorNotReady cudaErrorNotReady
#define gpuErrorNvlinkUncorrectable cudaErrorNvlinkUncorrectable
#define gpuErrorSystemDriverMismatch cudaErrorSystemDriverMismatch
#define gpuErrorSystemNotReady cudaErrorSystemNotReady
#define gpuErrorUnknown cudaErrorUnknown
#define gpuErrorUnloading cudaErrorCudartUnloading
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
#define gpuStreamCreateWithPriority cudaStreamCreateWithPriority
#define gpuStreamDestroy cudaStreamDestroy
#define gpuStreamEndCapture cudaStreamEndCapture
#define gpuStreamNonBlocking cudaStreamNonBlocking
#define gpuStreamSynchronize cudaStreamSynchronize
#define gpuStreamWaitEvent cudaStreamWaitEvent
#define gpuSuccess cudaSuccess

/// cudaErrorContained by its number, because CUDA has the name only from 12.9 on.
inline constexpr auto gpuErrorContained = static_cast<gpuError_t>(226);

/// Returns the exit status for an error of CUDA. kDoesNotFit if memory has run out. kDevice if the
/// card, its driver or one of their services is broken or taken. Else kInternal.
Exit exit_of(gpuError_t status);
/// Returns CUDA's own text of `status`. If exit_of(status) is kDevice, the text also names the
/// card, the fault and the place where an administrator looks.
std::string words_of(gpuError_t status);
/// Returns the kDevice status whose CUDA text is quoted in `words`, an error text of a library.
/// gpuSuccess if none is.
gpuError_t fault_in(std::string_view words);
/// Sets the name of the card in use, `words`, for texts of later errors. REQUIRES: no lane runs
/// yet.
void name_card(const std::string& words);
/// Throws the Error of a status other than gpuSuccess. Its text names `what`, the action that
/// failed: "starting a copy". Clears the runtime's last error, so the next caller does not see it.
[[noreturn]] void refuse_gpu(gpuError_t status, std::string_view what);
/// Throws as refuse_gpu() unless `status` is gpuSuccess.
inline void check_gpu(gpuError_t status, std::string_view what) {
  if (status != gpuSuccess) refuse_gpu(status, what);
}

/// Prints a warning on stderr that names the action `what`, unless `status` is gpuSuccess or
/// gpuErrorUnloading. Does not call warn(), which may throw.
void warn_gpu(gpuError_t status, std::string_view what) noexcept;

/// Tells the calling thread's runtime to use the device of use_device(), because every thread has
/// its own setting.
void use_chosen_device();
/// Does the same as use_chosen_device(), but warns on stderr instead of throwing.
void prefer_chosen_device() noexcept;

/// Returns the runtime's stream that `stream` holds.
gpuStream_t native_stream(const Stream& stream);

/// Throws Error(kDoesNotFit) for a block of `bytes` that the device refused. The text has the bytes
/// free now, and `more` at its end.
[[noreturn]] void refuse_device_memory(int64_t bytes, const std::string& more);
/// Fills a block of `bytes` of device memory with zeros. Blocks until done.
void clear_device_memory(std::byte* block, int64_t bytes);

/// An event of the device that the thread uses. Throws Error(kInternal) if there is no device.
class GpuEvent {
 public:
  /// Makes the event with `flags` of gpuEventCreateWithFlags.
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
