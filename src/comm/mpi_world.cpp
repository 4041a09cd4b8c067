#include "zero/comm/mpi_world.hpp"

#include <mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "src/comm/shm_segment.hpp"
#include "zero/base/error.hpp"

namespace zero::comm {
namespace {

MPI_Comm comm_of(const World& world) { return MPI_Comm_f2c(world.handle()); }

MPI_Comm node_of(MPI_Comm all) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
            "asking which ranks share a node");
  return node;
}

void require_running_mpi() {
  int running = 0;
  check_mpi(MPI_Initialized(&running), "asking whether MPI runs");
  ZERO_REQUIRE(running, "communicators over MPI ranks are made between MPI_Init and MPI_Finalize");
}

/// Returns the text of an error. MPI explains its codes only until it is finalized.
std::string failure_text(int status, std::string_view what) {
  char message[MPI_MAX_ERROR_STRING];
  int over = 0, length = 0;
  const bool asks = MPI_Finalized(&over) == MPI_SUCCESS && !over;
  if (!asks || MPI_Error_string(status, message, &length) != MPI_SUCCESS) length = 0;
  return text(what, " failed in MPI: ", std::string(message, size_t(length)), " (code ", status,
              ")");
}

PeerFiles visible_files(const World& node, const File& mine) {
  try {
    return files_of_peers(node, mine);
  } catch (const Error&) {
    // All ranks of the node throw here, and other back ends need no files.
    return PeerFiles(static_cast<size_t>(node.ranks()));
  }
}

std::byte* map(const File& file, int64_t bytes) {
  void* base = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

}  // namespace

void check_mpi(int status, std::string_view what) {
  if (status != MPI_SUCCESS) throw Error(Exit::kInternal, failure_text(status, what));
}

void warn_mpi(int status, std::string_view what) noexcept {
  if (status == MPI_SUCCESS) return;
  warn(failure_text(status, what));
}

World::World(int part) {
  require_running_mpi();
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(MPI_COMM_WORLD, part, 0, &comm), "splitting MPI_COMM_WORLD");
  handle_ = MPI_Comm_c2f(comm);
  ask_place();
}

World::World(OfNode) {
  require_running_mpi();
  handle_ = MPI_Comm_c2f(node_of(MPI_COMM_WORLD));
  ask_place();
}

void World::ask_place() {
  MPI_Comm comm = comm_of(*this);
  check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "asking MPI to return its errors");
  check_mpi(MPI_Comm_rank(comm, &rank_), "asking for the rank");
  check_mpi(MPI_Comm_size(comm, &ranks_), "asking for the number of ranks");
}

World::~World() {
  int over = 0;
  warn_mpi(MPI_Finalized(&over), "asking whether MPI still runs");
  if (over) return;
  MPI_Comm comm = comm_of(*this);
  warn_mpi(MPI_Comm_free(&comm), "freeing the communicator of all ranks");
}

bool World::shares_a_node() const {
  MPI_Comm node = node_of(comm_of(*this));
  int here = 0;
  check_mpi(MPI_Comm_size(node, &here), "counting the ranks of a node");
  check_mpi(MPI_Comm_free(&node), "freeing the communicator of a node");
  return all(here == ranks_);
}

World::Places World::places() const {
  MPI_Comm node = node_of(comm_of(*this));
  int first = rank_;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, node),
            "asking for the lowest rank of a node");
  check_mpi(MPI_Comm_free(&node), "freeing the communicator of a node");
  Places places{.first = gather(first)};
  std::vector<int> counts(places.first.size());
  for (const int there : places.first) ++counts[size_t(there)];
  places.nodes = int(std::ranges::count_if(counts, [](int count) { return count > 0; }));
  places.most = std::ranges::max(counts);
  places.away = ranks_ - counts[size_t(first)];
  return places;
}

bool World::all(bool mine) const {
  int value = mine;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MIN, comm_of(*this)),
            "asking all ranks whether they agree");
  return value != 0;
}

void World::require_same(int64_t mine, std::string_view what) const {
  const auto all = gather(mine);
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    refuse(Exit::kRanksDisagree, "ranks disagree: ", what, " is ", all[0], " on rank 0 and ",
           all[r], " on rank ", r, " - run one configuration on all ranks");
  }
}

void World::gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all) const {
  const int bytes = int(mine.size());
  check_mpi(
      MPI_Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, comm_of(*this)),
      "exchanging what ranks know of themselves");
}

NodeMemory::NodeMemory(int64_t bytes) : bytes_(bytes) {
  const World world;
  const World node{World::OfNode{}};
  rank_ = world.rank();
  pieces_.resize(size_t(world.ranks()), nullptr);
  const std::vector<int> here = node.gather(rank_);
  const File mine = make_memory_file(bytes);
  const PeerFiles files = visible_files(node, mine);
  for (size_t i = 0; i < here.size(); ++i) {
    const File& file = here[i] == rank_ ? mine : files[i];
    if (file.valid()) pieces_[size_t(here[i])] = map(file, bytes);
  }
  ZERO_REQUIRE(of(rank_) != nullptr, "mapping ", bytes, " bytes of this rank's own memory failed");
}

NodeMemory::~NodeMemory() {
  for (std::byte* piece : pieces_) {
    if (piece != nullptr) munmap(piece, size_t(bytes_));
  }
}

}  // namespace zero::comm
