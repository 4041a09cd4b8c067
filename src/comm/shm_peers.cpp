#include "src/comm/shm_peers.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "zero/base/error.hpp"

namespace zero::comm {
namespace {

struct Address {
  int64_t pid;
  int64_t fd;
};

bool complete(const World& world, const PeerFiles& files) {
  bool all = true;
  for (int r = 0; r < world.ranks(); ++r) all &= r == world.rank() || files[size_t(r)].valid();
  return world.all(all);
}

}  // namespace

PeerFiles open_through_proc(const World& world, const File& mine) {
  const auto addresses = world.gather(Address{.pid = getpid(), .fd = mine.fd()});
  const auto identities = world.gather(identity_of(mine));
  PeerFiles files(addresses.size());
  for (size_t r = 0; r < files.size(); ++r) {
    if (int(r) == world.rank()) continue;
    const std::string path = text("/proc/", addresses[r].pid, "/fd/", addresses[r].fd);
    File file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    // Where ranks do not share a process table, the number may be somebody else's.
    if (file.valid() && identity_of(file) == identities[r]) files[r] = std::move(file);
  }
  // Nobody may close its file before all have opened it.
  world.all(true);
  return files;
}

PeerFiles files_of_peers(const World& world, const File& mine) {
  PeerFiles files = open_through_proc(world, mine);
  if (complete(world, files)) return files;
  files = pass_through_sockets(world, mine);
  if (complete(world, files)) return files;
  refuse(Exit::kUsage, "shared memory between the ranks of this node: rank ", world.rank(), " of ",
         world.ranks(),
         " or a peer can open its peers' memory neither through /proc nor over a Unix "
         "socket - let the ranks share one container, or take comm's mpi back end instead of shm");
}

}  // namespace zero::comm
