// A library to be loaded ahead of the program (LD_PRELOAD): counts the elements that a rank hands
// to MPI_Isend and, for every peer, to MPI_Iallreduce for sums of 64-bit integers, as the profiling
// interface of MPI (section 15.2 of the standard) sees them: what ranks tell each other outside of
// a step goes by other calls. Writes at MPI_Finalize to
// COUNT_FILE.<rank>
//   <elements sent> <elements summed>
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<int64_t> sent{0}, summed{0};

}  // namespace

extern "C" {

int MPI_Isend(const void* data, int numel, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  sent += numel;
  return PMPI_Isend(data, numel, type, to, tag, comm, request);
}

int MPI_Iallreduce(const void* mine, void* all, int numel, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  if (type == MPI_INT64_T && op == MPI_SUM) summed += int64_t(numel) * (ranks - 1);
  return PMPI_Iallreduce(mine, all, numel, type, op, comm, request);
}

int MPI_Finalize() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* stem = std::getenv("COUNT_FILE");
  char path[4096];
  std::snprintf(path, sizeof path, "%s.%d", stem ? stem : "sends", rank);
  if (std::FILE* file = std::fopen(path, "we")) {
    std::fprintf(file, "%lld %lld\n", (long long)sent.load(), (long long)summed.load());
    std::fclose(file);
  }
  return PMPI_Finalize();
}
}
