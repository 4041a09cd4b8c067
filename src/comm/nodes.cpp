#include "zero/comm/nodes.hpp"

#include <algorithm>
#include <bit>

#include "zero/base/text.hpp"
#include "zero/comm/backends.hpp"
#include "zero/comm/mpi_world.hpp"

namespace zero::comm {

int Nodes::count() const { return of_rank.empty() ? 0 : std::ranges::max(of_rank) + 1; }

std::vector<int> Nodes::ranks() const {
  std::vector<int> ranks(static_cast<size_t>(count()));
  for (const int node : of_rank) ++ranks[size_t(node)];
  return ranks;
}

Nodes find_nodes() {
  const std::vector<int> first = World().places().first;
  Nodes nodes;
  int count = 0;
  for (size_t r = 0; r < first.size(); ++r) {
    const bool is_new = first[r] == int(r);
    nodes.of_rank.push_back(is_new ? count++ : nodes.of_rank[size_t(first[r])]);
  }
  return nodes;
}

std::string why_one_level(const Nodes& nodes) {
  if (nodes.count() <= 1) return "";
  const std::vector<int> ranks = nodes.ranks();
  const auto [least, most] = std::ranges::minmax(ranks);
  if (least != most) {
    return text("nodes have ", least, " to ", most, " ranks; start as many on each");
  }
  if (most == 1) return "each node has one rank";
  if (!std::has_single_bit(unsigned(most))) {
    return text("a node has ", most, " ranks; start 2, 4, 8 or another power of two on each");
  }
  if (!std::ranges::is_sorted(nodes.of_rank)) {
    return "ranks of a node are no neighbours; place them by node (srun --distribution=block, "
           "mpirun --map-by slot)";
  }
  return "";
}

std::unique_ptr<Communicator> make_of_hosts(const Nodes& nodes, bool one_level) {
  if (nodes.count() == 1) return make_shm({});
  if (one_level || !why_one_level(nodes).empty()) return make_mpi({});
  const int node_ranks = nodes.ranks()[0], rank = World().rank();
  auto within = make_shm({.part = rank / node_ranks});
  return make_two_level(std::move(within), make_mpi({.part = rank % node_ranks, .agreed = true}));
}

}  // namespace zero::comm
