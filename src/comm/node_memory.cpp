#include "src/comm/node_memory.hpp"

#include <sys/mman.h>

#include "src/comm/shm_peers.hpp"
#include "zero/base/error.hpp"

namespace zero::comm {
namespace {

PeerFiles visible_files(const World& world, const File& mine) {
  PeerFiles none(static_cast<size_t>(world.ranks()));
  if (!world.shares_a_node()) return none;
  try {
    return files_of_peers(world, mine);
  } catch (const Error&) {
    return none;  // thrown on all ranks; other back ends do without
  }
}

std::byte* map(const File& file, int64_t bytes) {
  void* base = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

}  // namespace

NodeMemory::NodeMemory(int64_t bytes) : bytes_(bytes) {
  const World world;
  rank_ = world.rank();
  const File mine = make_memory_file(bytes);
  const PeerFiles files = visible_files(world, mine);
  for (int r = 0; r < world.ranks(); ++r) {
    const File& file = r == rank_ ? mine : files[size_t(r)];
    pieces_.push_back(file.valid() ? map(file, bytes) : nullptr);
  }
  ZERO_REQUIRE(of(rank_) != nullptr, "mapping ", bytes, " bytes of this rank's own memory failed");
}

NodeMemory::~NodeMemory() {
  for (std::byte* piece : pieces_) {
    if (piece != nullptr) munmap(piece, size_t(bytes_));
  }
}

}  // namespace zero::comm
