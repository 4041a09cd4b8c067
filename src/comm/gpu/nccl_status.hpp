#pragma once

#include <nccl.h>

#include "zero/base/error.hpp"

namespace zero::comm {

/// Returns the error of a status of NCCL other than ncclSuccess. `words` are NCCL's last words. A
/// lost peer or link is kHang, lack of memory kDoesNotFit, anything else kInternal.
Error nccl_error(ncclResult_t status, const char* what, const char* words);

/// True if NCCL's last call failed for lack of memory, by NCCL's last words.
bool is_for_memory(ncclResult_t status);

/// Throws the error of a status other than ncclSuccess. If NCCL quotes a fault of the device, or
/// CUDA keeps an error, throws that error, as check_gpu() does.
void check_nccl(ncclResult_t status, const char* what);

/// Prints a warning on stderr unless `status` is ncclSuccess. Does not call warn(), which may
/// throw.
void warn_nccl(ncclResult_t status, const char* what) noexcept;

}  // namespace zero::comm
