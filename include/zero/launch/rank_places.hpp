#pragma once

#include <string>
#include <vector>

#include "zero/launch/node_parts.hpp"

namespace zero::launch {

class Session;

/// The place of a rank: its node, its device, and the cores and memory that it uses.
struct RankPlace {
  std::string host;
  std::string device = {};      ///< its place on the bus; "" on a host build
  int device_numa_node = -1;    ///< -1: unknown
  Numbers device_sockets = {};  ///< sockets of the cores in that NUMA node
  Numbers allowed = {};         ///< cores that the launcher allows
  Numbers cores = {};           ///< cores that the rank takes of these, near its device if any are
  Numbers sockets = {};         ///< of `cores`
  Numbers numa_nodes = {};      ///< of `cores`
  Numbers memory_nodes = {};    ///< NUMA nodes from which its memory comes
  Numbers node_cores = {};      ///< all cores of the node
};

/// Returns the place with what a node tells of these cores and of the device.
RankPlace place_of(const NodeParts& node, RankPlace place);

/// Packs a place as text for the other ranks; unpack_place() restores it.
std::string pack_place(const RankPlace& place);
RankPlace unpack_place(const std::string& packed);

/// A fault of a launcher's placement, and its remedy.
struct PlacementFault {
  std::string what, advice;
  bool is_refused = false;  ///< a run is refused; else it is only slow
};

/// Returns the faults of the places of all ranks, in their order. Ranks that share cores are no
/// fault if each can have one of them, or if a node has fewer cores than ranks.
/// - Ranks share fewer cores than they are. Refused if the launcher gave others other cores.
/// - The cores of a rank are on another socket than its device.
/// - Ranks of a node are not neighbours, or nodes have different numbers of ranks. Collectives then
///   cross between nodes more often.
std::vector<PlacementFault> placement_faults(const std::vector<RankPlace>& places);

/// Returns a table with a line for each rank.
std::string placement_table(const std::vector<RankPlace>& places);

/// Warns of the faults of this launch. Throws Ended{kUsage} on all ranks if one is refused.
/// Collective.
void check_placement(Session& session);

}  // namespace zero::launch
