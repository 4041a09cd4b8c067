// A library to be loaded ahead of the program (LD_PRELOAD): takes LAZY_BYTES of this process's
// address space at the first MPI_Isend, which only collectives of lanes call. NCCL takes its
// buffers as late; `ulimit -v` stands for the size of the device.
#include <mpi.h>
#include <sys/mman.h>

#include <cstdlib>
#include <mutex>

#include "zero/base/error.hpp"

namespace {

void take() {
  const char* const asked = std::getenv("LAZY_BYTES");
  const size_t bytes = asked ? size_t(std::atoll(asked)) : 0;
  if (bytes == 0) return;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (mmap(nullptr, bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED) {
    zero::refuse(zero::Exit::kDoesNotFit, "lazily taken memory does not fit");
  }
}

}  // namespace

extern "C" int MPI_Isend(const void* data, int numel, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request* request) {
  static std::once_flag taken;
  std::call_once(taken, take);
  return PMPI_Isend(data, numel, type, to, tag, comm, request);
}
