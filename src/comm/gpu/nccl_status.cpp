#include "src/comm/gpu/nccl_status.hpp"

#include <cstdio>
#include <string_view>

#include "zero/device/gpu_runtime.hpp"

namespace zero::comm {
namespace {

/// True if NCCL's words tell of lack of memory, for which it has no status. They quote CUDA for
/// device memory, or the system for /dev/shm and the heap.
bool tells_of_memory(std::string_view words) {
  for (const char* const sign :
       {"out of memory", "No space left on device", "Cannot allocate memory"}) {
    if (words.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

Error nccl_error(ncclResult_t status, const char* what, const char* words) {
  const std::string said =
      text(what, " failed in NCCL: ", ncclGetErrorString(status), " - ", words ? words : "");
  if (tells_of_memory(said)) {
    return {Exit::kDoesNotFit,
            said +
                " - NCCL takes memory beside the plan: write a smaller memory.device_limit, or "
                "give NCCL fewer blocks (NCCL_MAX_CTAS=8)"};
  }
  if (status == ncclRemoteError || status == ncclSystemError) {
    return {Exit::kHang,
            said +
                " - a peer rank has ended or a link has failed: see the first error of the other "
                "ranks, then the network; start again to go on"};
  }
  return {Exit::kInternal, said};
}

bool is_for_memory(ncclResult_t status) {
  const char* const words = ncclGetLastError(nullptr);
  return status != ncclSuccess && words != nullptr && tells_of_memory(words);
}

void check_nccl(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  const char* const words = ncclGetLastError(nullptr);
  const Error error = nccl_error(status, what, words);
  if (status == ncclUnhandledCudaError && error.exit() == Exit::kInternal) {
    // NCCL clears CUDA's error, and quotes it.
    check_gpu(fault_in(words ? words : ""), what);
    check_gpu(gpuGetLastError(), what);
  }
  throw error;
}

void warn_nccl(ncclResult_t status, const char* what) noexcept {
  if (status == ncclSuccess) return;
  std::fprintf(stderr, "zeroapp: warning: %s failed in NCCL: %s\n", what,
               ncclGetErrorString(status));
}

}  // namespace zero::comm
