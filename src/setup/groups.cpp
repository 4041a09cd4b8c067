#include "zero/setup/groups.hpp"

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::setup {
namespace {

/// Returns the ranks of a node, which form a group. Throws Error(kUsage) if none can.
int64_t group_of_node(const World& world) {
  if (world.node_ranks < 0) {
    refuse_settings({"zero.shard_group"}, "nodes have different numbers of ranks, or a node's are ",
                    "no neighbours; start as many on each, by node, or write a number of ranks");
  }
  if (world.node_ranks == 1 && world.ranks > 1) {
    refuse_settings({"zero.shard_group"}, "a node has one rank, which would hold all weights; ",
                    "write \"all\", or zero.stage = 1");
  }
  return world.node_ranks;
}

/// Refuses groups that begin or end within a node and span others.
void require_whole_nodes(int64_t group, int64_t node) {
  if (node <= 0 || group % node == 0 || node % group == 0) return;
  refuse_settings({"zero.shard_group"}, "groups of ", counted(group, "rank"),
                  " begin and end within nodes of ", node, "; write a divisor or a multiple of ",
                  node);
}

}  // namespace

int group_ranks(const RunConfig& config, const World& world) {
  int64_t group = config.zero.shard_group;
  if (group == 0 || config.zero.stage != 3) return 0;
  if (group == kGroupOfNode) group = group_of_node(world);
  if (group == 0 || group == world.ranks) return 0;
  if (world.ranks % group != 0) {
    refuse_settings({"zero.shard_group"}, counted(world.ranks, "rank"), " do not fill groups of ",
                    group, "; write a divisor of ", world.ranks, " above 1, or \"all\"");
  }
  require_whole_nodes(group, world.node_ranks);
  return int(group);
}

}  // namespace zero::setup
