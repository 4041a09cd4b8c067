#pragma once
/// What this process hands to MPI, seen from outside the product: tests/support/pmpi_count.cpp
/// stands between the program and MPI (the profiling interface of the MPI standard, section 15.2).

#include <cstdint>

namespace zero::testing {

struct MpiSent {
  int64_t messages = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
};

/// Point-to-point messages and (I)Allgatherv, each counted once for every receiver, since the last
/// reset_mpi_sent(). Thread-safe.
MpiSent mpi_sent();
void reset_mpi_sent();

/// The next MPI_Isend returns MPI_ERR_TRUNCATE and sends nothing.
void fail_next_isend();

}  // namespace zero::testing
