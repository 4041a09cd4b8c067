// A library to be loaded ahead of the program (LD_PRELOAD): on rank CARD_RANK, CUDA returns the
// status CARD_STATUS to a lane at its CARD_CALL-th sum over ranks, as it does behind a card that
// has broken. What is thrown is what src/device/gpu/errors.cpp makes of it. Makes the file CARD_LOG
// then.
#include <mpi.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "zero/device/gpu_runtime.hpp"

namespace {

int number_of(const char* name) {
  const char* const value = std::getenv(name);
  return value ? std::atoi(value) : -1;
}

void break_card() {
  if (std::FILE* file = std::fopen(std::getenv("CARD_LOG"), "we")) std::fclose(file);
  zero::name_card("NVIDIA H100 GPU-00010203-0405, 0000:3b:00.0");
  zero::check_gpu(zero::gpuError_t(number_of("CARD_STATUS")), "waiting for a stream");
}

}  // namespace

extern "C" int MPI_Iallreduce(const void* mine, void* all, int numel, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
  static std::atomic<int> calls{0};
  const bool is_sum = type == MPI_INT64_T && op == MPI_SUM;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (is_sum && rank == number_of("CARD_RANK") && ++calls == number_of("CARD_CALL")) break_card();
  return PMPI_Iallreduce(mine, all, numel, type, op, comm, request);
}
