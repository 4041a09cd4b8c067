// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_cuda.hpp"
#include "tests/support/refusal.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::refusal_of;

std::string refusal(cudaError_t status, Exit exit) {
  return refusal_of(exit, [&] { check_gpu(status, "waiting for a stream"); });
}

/// A status, and a word of the fault and of what an administrator looks at.
struct Row {
  cudaError_t status;
  const char *fault, *look;
};

constexpr Row kBroken[] = {
    {cudaErrorDevicesUnavailable, "for itself", "nvidia-smi -q -d COMPUTE"},
    {cudaErrorSystemNotReady, "joins the cards", "nvidia-fabricmanager"},
    {cudaErrorSystemDriverMismatch, "different versions", "/proc/driver/nvidia/version"},
    {cudaErrorECCUncorrectable, "cannot be corrected", "nvidia-smi -q -d ECC"},
    {gpuErrorContained, "cannot be corrected", "Xid 94"},
    {cudaErrorNvlinkUncorrectable, "a link to another card", "Xid 74"},
    {cudaErrorHardwareStackError, "broken off", "dmesg (Xid)"},
    {cudaErrorLaunchFailure, "please report it", "dmesg (Xid 13"},
    {cudaErrorMpsConnectionFailed, "MPS server", "nvidia-cuda-mps-control"},
    {cudaErrorMpsRpcFailure, "MPS server", "nvidia-cuda-mps-control"},
    {cudaErrorMpsServerNotReady, "MPS server", "nvidia-cuda-mps-control"},
    {cudaErrorMpsMaxClientsReached, "MPS server", "nvidia-cuda-mps-control"},
    {cudaErrorMpsMaxConnectionsReached, "MPS server", "nvidia-cuda-mps-control"},
    {cudaErrorMpsClientTerminated, "MPS server", "nvidia-cuda-mps-control"},
    {cudaErrorUnknown, "driver has given up", "Xid 79"},
};

TEST(GpuErrors, OfABrokenCardSayWhichWhatAndWhereToLook) {
  name_card("NVIDIA H100 GPU-00010203, 0000:3b:00.0");
  for (const Row& row : kBroken) {
    EXPECT_THAT(refusal(row.status, Exit::kDevice),
                AllOf(HasSubstr("waiting for a stream failed in CUDA: "), HasSubstr(row.fault),
                      HasSubstr(" on NVIDIA H100 GPU-00010203, 0000:3b:00.0: "),
                      HasSubstr(" - start again on another node"), HasSubstr(row.look)))
        << int(row.status);
  }
  name_card("");
  EXPECT_THAT(refusal(cudaErrorLaunchFailure, Exit::kDevice), Not(HasSubstr(" on NVIDIA")));
}

TEST(GpuErrors, OfABrokenCardAreFoundWhereALibraryQuotesThem) {
  EXPECT_EQ(fault_in("Cuda failure 'uncorrectable NVLink error'"), cudaErrorNvlinkUncorrectable);
  EXPECT_EQ(fault_in("Cuda failure 719 'unspecified launch failure'"), cudaErrorLaunchFailure);
  EXPECT_EQ(fault_in("Cuda failure 'an illegal memory access'"), cudaSuccess);
  EXPECT_EQ(fault_in(""), cudaSuccess);
}

TEST(GpuErrors, OfTheProgramStayItsOwn) {
  EXPECT_EQ(refusal(cudaErrorIllegalAddress, Exit::kInternal),
            "waiting for a stream failed in CUDA: an illegal memory access "
            "(cudaErrorIllegalAddress)");
  EXPECT_THAT(refusal(cudaErrorInvalidValue, Exit::kInternal), Not(HasSubstr("administrator")));
  EXPECT_THAT(refusal(cudaErrorMemoryAllocation, Exit::kDoesNotFit), HasSubstr("out of memory"));
  EXPECT_EQ(refusal(cudaSuccess, Exit::kInternal), "");
}

}  // namespace
}  // namespace zero
