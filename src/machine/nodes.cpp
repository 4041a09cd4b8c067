#include "src/machine/nodes.hpp"

#include <algorithm>
#include <map>

#include "zero/comm/backends.hpp"
#include "zero/device/device.hpp"

namespace zero::machine {

NodePosition position_of(const std::vector<std::string>& hosts, int rank) {
  std::map<std::string, int> ranks_of;
  std::vector<std::string> nodes;
  NodePosition mine;
  for (size_t r = 0; r < hosts.size(); ++r) {
    const int on_node = ranks_of[hosts[r]]++;
    if (on_node == 0) nodes.push_back(hosts[r]);
    if (int(r) == rank) mine.on_node = on_node;
  }
  const auto here = std::find(nodes.begin(), nodes.end(), hosts[size_t(rank)]);
  mine.node = int(here - nodes.begin());
  mine.nodes = int(nodes.size());
  mine.node_ranks = ranks_of.begin()->second;
  for (const auto& [host, ranks] : ranks_of) {
    if (ranks != mine.node_ranks) return {mine.nodes, 0, mine.node, mine.on_node};
  }
  return mine;
}

std::unique_ptr<comm::Communicator> make_part(const launch::Session& session, int part) {
  if (!drives_devices()) return comm::make_mpi({.part = part});
  if (session.shares_devices() || !comm::has_nccl()) {
    return comm::make_host_staged(comm::make_mpi({.part = part}), {});
  }
  return comm::make_nccl({.part = part});
}

}  // namespace zero::machine
