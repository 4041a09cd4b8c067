#include <cstdio>

#include "zero/device/gpu_runtime.hpp"

namespace zero {
namespace {

/// A status that tells of a broken or taken card, driver or service, so another node is the remedy.
struct Fault {
  gpuError_t status;
  const char* what;
  const char* look;  ///< place for an administrator to look at
};

constexpr const char* kMps = "the MPS server does not answer or takes no more programs";
constexpr const char* kMpsLook =
    "the log of nvidia-cuda-mps-control (/var/log/nvidia-mps) and ps -C nvidia-cuda-mps-server";
constexpr const char* kKernel =
    "a kernel was broken off; if another card does the same, please report it";

constexpr Fault kFaults[] = {
    {gpuErrorDevicesUnavailable, "another program has the card for itself, or an MPS server died",
     "nvidia-smi -q -d COMPUTE (nvidia-smi -c 0 ends Exclusive_Process) and "
     "ps -C nvidia-cuda-mps-server"},
    {gpuErrorSystemNotReady, "the service that joins the cards of the node does not run",
     "systemctl status nvidia-fabricmanager and nvidia-smi -q (Fabric)"},
    {gpuErrorSystemDriverMismatch, "parts of the driver have different versions",
     "cat /proc/driver/nvidia/version and nvidia-smi: load the driver again"},
    {gpuErrorECCUncorrectable, "its memory has an error that cannot be corrected",
     "dmesg (Xid 48, 63, 64, 94, 95) and nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER"},
    {gpuErrorContained, "its memory has an error that cannot be corrected",
     "dmesg (Xid 94) and nvidia-smi -q -d ECC,ROW_REMAPPER"},
    {gpuErrorNvlinkUncorrectable, "a link to another card has an error that cannot be corrected",
     "dmesg (Xid 74, SXid) and nvidia-smi nvlink --errorcounters"},
    {gpuErrorHardwareStackError, kKernel, "dmesg (Xid) and nvidia-smi -q"},
    {gpuErrorLaunchFailure, kKernel, "dmesg (Xid 13, 31, 62, 74, 79, 119, 140) and nvidia-smi -q"},
    {gpuErrorMpsConnectionFailed, kMps, kMpsLook},
    {gpuErrorMpsRpcFailure, kMps, kMpsLook},
    {gpuErrorMpsServerNotReady, kMps, kMpsLook},
    {gpuErrorMpsMaxClientsReached, kMps, kMpsLook},
    {gpuErrorMpsMaxConnectionsReached, kMps, kMpsLook},
    {gpuErrorMpsClientTerminated, kMps, kMpsLook},
    {gpuErrorUnknown, "its driver has given up", "dmesg (Xid 79, 119, 120) and nvidia-smi -q"},
};

const Fault* fault_of(gpuError_t status) {
  for (const Fault& fault : kFaults) {
    if (fault.status == status) return &fault;
  }
  return nullptr;
}

// Written once, before lanes start, because a broken card may not answer later.
char card[192] = "";

}  // namespace

void name_card(const std::string& words) { std::snprintf(card, sizeof card, "%s", words.c_str()); }

Exit exit_of(gpuError_t status) {
  if (status == gpuErrorMemoryAllocation) return Exit::kDoesNotFit;
  return fault_of(status) != nullptr ? Exit::kDevice : Exit::kInternal;
}

std::string words_of(gpuError_t status) {
  std::string words = text(gpuGetErrorString(status), " (", gpuGetErrorName(status), ")");
  const Fault* const fault = fault_of(status);
  if (fault == nullptr) return words;
  if (card[0] != '\0') words += text(" on ", card);
  return text(words, ": ", fault->what,
              " - start again on another node; an administrator looks at ", fault->look);
}

gpuError_t fault_in(std::string_view words) {
  for (const Fault& fault : kFaults) {
    const std::string quoted = text("'", gpuGetErrorString(fault.status), "'");
    if (words.find(quoted) != std::string_view::npos) return fault.status;
  }
  return gpuSuccess;
}

void refuse_gpu(gpuError_t status, std::string_view what) {
  static_cast<void>(gpuGetLastError());
  refuse(exit_of(status), what, " failed in CUDA: ", words_of(status));
}

}  // namespace zero
