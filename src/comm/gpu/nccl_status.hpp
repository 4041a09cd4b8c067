#pragma once

#include <nccl.h>

#include "zero/base/error.hpp"

namespace zero::comm {

/// Returns the error of a status of NCCL other than ncclSuccess. `words` are NCCL's last ones. A
/// lost peer or link is kHang, memory that ran out kDoesNotFit, anything else kInternal.
Error nccl_error(ncclResult_t status, const char* what, const char* words);

/// True if NCCL's last call failed for want of memory, by its last words.
bool is_for_memory(ncclResult_t status);

/// Throws the error of a status other than ncclSuccess. If NCCL quotes a fault of the device, or
/// CUDA keeps an error, it is that one, as check_gpu() throws it.
void check_nccl(ncclResult_t status, const char* what);

/// Warns on stderr where nothing can be thrown; not by warn(), which may throw.
void warn_nccl(ncclResult_t status, const char* what) noexcept;

}  // namespace zero::comm
