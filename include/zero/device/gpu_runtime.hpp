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

/// cudaErrorContained by its number, since CUDA has the name from 12.9 on only.
inline constexpr auto gpuErrorContained = static_cast<gpuError_t>(226);

/// Returns kDoesNotFit where memory has run out, kDevice where the card, its driver or a service of
/// theirs is broken or taken, and kInternal for any other status but gpuSuccess.
Exit exit_of(gpuError_t status);
/// Returns CUDA's own text and, for kDevice, the card, the fault and what an administrator looks
/// at.
std::string words_of(gpuError_t status);
/// Returns the kDevice fault whose text, as CUDA gives it, a library quotes in its own words.
/// gpuSuccess if it quotes none.
gpuError_t fault_in(std::string_view words);
/// Keeps the words by which errors name the card in use. Called before lanes start.
void name_card(const std::string& words);
/// Throws the Error of a status that is not gpuSuccess, naming `what`. What is told here does not
/// meet the next caller.
[[noreturn]] void refuse_gpu(gpuError_t status, std::string_view what);
inline void check_gpu(gpuError_t status, std::string_view what) {
  if (status != gpuSuccess) refuse_gpu(status, what);
}

/// Where nothing can be thrown: a warning on stderr instead, not by warn(), which may throw.
void warn_gpu(gpuError_t status, std::string_view what) noexcept;

/// Tells the calling thread's runtime to use the device that use_device() has named: the setting is
/// a thread's own.
void use_chosen_device();
/// Does so where nothing can be thrown: a device that is not to be had is a warning on stderr.
void prefer_chosen_device() noexcept;

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
