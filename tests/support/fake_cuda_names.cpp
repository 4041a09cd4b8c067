// Names and words of CUDA's statuses, for all of its stand-ins.

#include <cuda_runtime_api.h>

namespace {

struct Name {
  cudaError_t status;
  const char *name, *words;
};

constexpr Name kNames[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable", "device(s) is/are busy"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorNvlinkUncorrectable, "cudaErrorNvlinkUncorrectable", "uncorrectable NVLink error"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorSystemNotReady, "cudaErrorSystemNotReady", "system not yet initialized"},
    {cudaErrorMpsConnectionFailed, "cudaErrorMpsConnectionFailed", "MPS client failed to connect"},
};

const Name* known(cudaError_t status) {
  for (const Name& name : kNames) {
    if (name.status == status) return &name;
  }
  return nullptr;
}

}  // namespace

const char* cudaGetErrorString(cudaError_t status) {
  const Name* const name = known(status);
  return name ? name->words : "words of CUDA";
}
const char* cudaGetErrorName(cudaError_t status) {
  const Name* const name = known(status);
  return name ? name->name : "cudaErrorName";
}
