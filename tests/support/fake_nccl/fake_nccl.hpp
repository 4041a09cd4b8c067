#pragma once

#include <cstdint>
#include <string>

namespace zero::fake_nccl {

/// What goes wrong on purpose, on this process. ZERO_FAKE_NCCL in the environment sets it for whole
/// programs: "rank=1 fail_call=20 fail_code=6", by the names below. The first fault of all ranks
/// makes the file that ZERO_FAKE_NCCL_LOG names.
struct Faults {
  int64_t rank = -1;       ///< of MPI_COMM_WORLD, where the rest holds; -1: on all
  int64_t fail_call = 0;   ///< this call of a collective, from 1 on, returns fail_code; 0: none
  int64_t fail_code = 6;   ///< ncclRemoteError
  int64_t break_call = 0;  ///< this one never ends, and the asynchronous error is break_code
  int64_t break_code = 6;
  int64_t no_window = 0;        ///< 1: this rank's memory is not registered
  int64_t fail_window = 0;      ///< registering returns this status
  int64_t fail_name = 0;        ///< ncclGetUniqueId returns this status
  int64_t fail_memory = 0;      ///< ncclMemAlloc: 1: finds no memory; 2: ncclUnhandledCudaError
  int64_t delay_us = 0;         ///< each call of a collective is late by up to so much
  int64_t seed = 0;             ///< of the delays
  int64_t lazy_bytes = 0;       ///< that a communicator takes at its first collective
  int64_t device_bytes = -1;    ///< that there are for all of it; -1: enough
  int64_t device_status = 0;    ///< of CUDA, behind ncclUnhandledCudaError: a broken device
  int64_t one_device = 0;       ///< 1: all ranks drive the same one
  int64_t version = 22809;      ///< of NCCL
  int64_t strict = 0;           ///< 1: see Rules
  int64_t patience_ms = 60000;  ///< of a call whose peers do not come
};

/// The calling thread drives the device of its rank from now on.
void choose_device();

/// Returns the faults of the environment until a test changes them.
Faults& faults();
/// Back to what the environment says; no call was counted, nothing was violated.
void reset();

/// What the caller has done against NCCL's rules, the first of it; "": nothing. It is also printed,
/// behind "fake NCCL: ". The rules: one order of collectives over all communicators and ranks, one
/// thread in a call at a time, memory that lives as long as its window and a window as its
/// communicator, threads that have chosen their rank's device wherever NCCL takes or gives back
/// something of it, no abort but behind a failure, an end that all ranks come to with all work
/// done, and a buffer inside of one window or outside of all. Strict: every buffer of more than 8
/// bytes begins at a multiple of 16, and lies in a window where the communicator has any.
std::string violation();

/// Calls of collectives so far, by this process.
int64_t calls();
/// Communicators that live, windows that are open, blocks of memory that are taken.
int64_t living();
/// Bytes that communicators have taken at their first collective and not given back.
int64_t lazy_bytes_taken();

}  // namespace zero::fake_nccl
