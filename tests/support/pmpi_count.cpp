#include "tests/support/pmpi_count.hpp"

#include <mpi.h>

#include <atomic>

namespace zero::testing {
namespace {

std::atomic<int64_t> messages{0};
std::atomic<int64_t> elements{0};
std::atomic<int64_t> bytes{0};
std::atomic<bool> fails{false};

void count(int numel, MPI_Datatype type, int receivers) {
  int type_bytes = 0;
  PMPI_Type_size(type, &type_bytes);
  messages += receivers;
  elements += int64_t(numel) * receivers;
  bytes += int64_t(numel) * type_bytes * receivers;
}

int peers_of(MPI_Comm comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  return ranks - 1;
}

}  // namespace

MpiSent mpi_sent() { return {.messages = messages, .elements = elements, .bytes = bytes}; }

void reset_mpi_sent() { messages = elements = bytes = 0; }

void fail_next_isend() { fails = true; }

}  // namespace zero::testing

extern "C" {

int MPI_Send(const void* data, int numel, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  zero::testing::count(numel, type, 1);
  return PMPI_Send(data, numel, type, to, tag, comm);
}

int MPI_Isend(const void* data, int numel, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (zero::testing::fails.exchange(false)) return MPI_ERR_TRUNCATE;
  zero::testing::count(numel, type, 1);
  return PMPI_Isend(data, numel, type, to, tag, comm, request);
}

int MPI_Allgatherv(const void* data, int numel, MPI_Datatype type, void* all, const int* counts,
                   const int* places, MPI_Datatype all_type, MPI_Comm comm) {
  zero::testing::count(numel, type, zero::testing::peers_of(comm));
  return PMPI_Allgatherv(data, numel, type, all, counts, places, all_type, comm);
}

int MPI_Iallgatherv(const void* data, int numel, MPI_Datatype type, void* all, const int* counts,
                    const int* places, MPI_Datatype all_type, MPI_Comm comm, MPI_Request* request) {
  zero::testing::count(numel, type, zero::testing::peers_of(comm));
  return PMPI_Iallgatherv(data, numel, type, all, counts, places, all_type, comm, request);
}
}
