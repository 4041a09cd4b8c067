#pragma once

#include <mpi.h>

#include <string>

#include "zero/base/error.hpp"

namespace zero::train {

/// Every MPI result is looked at: error classes come back instead of ending the job unheard.
inline void check_mpi(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char reason[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, reason, &length);
  refuse(Exit::kInternal, call, " failed: ", std::string(reason, size_t(length)));
}

}  // namespace zero::train
