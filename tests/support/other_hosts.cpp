/// A library to be loaded ahead of the program (LD_PRELOAD): each few ranks of Open MPI believe
/// that they are on a host of their own, "node0", "node1" and so on, and share memory with these
/// alone. OTHER_HOSTS_RANKS says how many (2); OTHER_HOSTS_CYCLIC=1 deals them out in turn. What
/// MPI sends, and by which way, stays.

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

namespace {

int number(const char* variable, int otherwise) {
  const char* value = getenv(variable);
  return value == nullptr ? otherwise : atoi(value);
}

int node() {
  const int rank = number("OMPI_COMM_WORLD_RANK", 0), ranks = number("OTHER_HOSTS_RANKS", 2);
  if (number("OTHER_HOSTS_CYCLIC", 0) == 0) return rank / ranks;
  return rank % ((number("OMPI_COMM_WORLD_SIZE", 1) + ranks - 1) / ranks);
}

}  // namespace

extern "C" int gethostname(char* name, size_t size) noexcept {
  snprintf(name, size, "node%d", node());
  return 0;
}

extern "C" int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                                   MPI_Comm* made) {
  if (type != MPI_COMM_TYPE_SHARED) return PMPI_Comm_split_type(comm, type, key, info, made);
  return PMPI_Comm_split(comm, node(), key, made);
}
