#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zero::comm {

/// The nodes of all ranks, as MPI knows them.
struct Nodes {
  std::vector<int> of_rank;  ///< node of each rank; nodes are numbered by their lowest rank

  int count() const;
  std::vector<int> ranks() const;  ///< ranks of each node
};

/// Asks MPI which ranks share a node. Collective over all ranks of MPI_COMM_WORLD.
Nodes find_nodes();

/// Returns the reason for which collectives over several nodes go in one level, and a remedy:
/// "nodes have 3 to 4 ranks; start as many on each". Returns "" if there is none, also for a single
/// node. Two levels need equal numbers of neighbouring ranks on each node, a power of two above 1.
std::string why_one_level(const Nodes& nodes);

/// Returns the nodes of the ranks r with part_of[r] = `part`, numbered by their lowest rank.
Nodes nodes_of_part(const Nodes& nodes, const std::vector<int>& part_of, int part);

/// Returns the number of nodes beside a rank's own if `ranks` ranks fill nodes of `node_ranks`
/// each. 0 if `node_ranks` is 0.
constexpr int64_t other_nodes(int64_t ranks, int64_t node_ranks) {
  return node_ranks == 0 ? 0 : (ranks + node_ranks - 1) / node_ranks - 1;
}

}  // namespace zero::comm
