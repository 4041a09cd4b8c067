#pragma once

#include <memory>
#include <string>
#include <vector>

#include "zero/comm/communicator.hpp"
#include "zero/launch/session.hpp"

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

/// One communicator of the ranks that name the same group, which are equally many in every group,
/// by what a run over several nodes would have. Collective over all ranks.
std::unique_ptr<comm::Communicator> make_part(const launch::Session& session, int part);

}  // namespace zero::machine
