#include <sys/mman.h>

#include "src/comm/shm_segment.hpp"
#include "zero/base/error.hpp"
#include "zero/comm/mpi_world.hpp"

namespace zero::comm {
namespace {

PeerFiles visible_files(const World& node, const File& mine) {
  try {
    return files_of_peers(node, mine);
  } catch (const Error&) {
    // Thrown on all ranks of the node; other back ends do without.
    return PeerFiles(static_cast<size_t>(node.ranks()));
  }
}

std::byte* map(const File& file, int64_t bytes) {
  void* base = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

}  // namespace

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
