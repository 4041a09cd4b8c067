#pragma once

#include <string>
#include <vector>

namespace zero::machine {

/// Where a rank is among nodes.
struct NodePosition {
  int nodes = 1;
  int node_ranks = 1;  ///< of each node; 0: they have different numbers
  int node = 0;        ///< nodes are numbered in the order of their lowest ranks
  int on_node = 0;     ///< its number there, in the order of ranks
};

/// From the host of every rank.
NodePosition position_of(const std::vector<std::string>& hosts, int rank);

}  // namespace zero::machine
