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

Nodes nodes_of_part(const Nodes& nodes, const std::vector<int>& part_of, int part) {
  std::vector<int> number(static_cast<size_t>(nodes.count()), -1);
  Nodes of_part;
  int count = 0;
  for (size_t r = 0; r < part_of.size(); ++r) {
    if (part_of[r] != part) continue;
    int& node = number[size_t(nodes.of_rank[r])];
    if (node < 0) node = count++;
    of_part.of_rank.push_back(node);
  }
  return of_part;
}

std::unique_ptr<Communicator> make_of_hosts(const Nodes& nodes, const OfHostsOptions& options) {
  std::vector<int> part_of = options.part_of;
  if (part_of.empty()) part_of.assign(nodes.of_rank.size(), 0);
  std::vector<Nodes> parts;
  for (int part = 0; part <= std::ranges::max(part_of); ++part)
    parts.push_back(nodes_of_part(nodes, part_of, part));
  const auto rank = size_t(World().rank());
  const int part = part_of[rank];
  const auto all = [&](const auto& is) { return std::ranges::all_of(parts, is); };
  if (all([](const Nodes& of) { return of.count() == 1; })) return make_shm({.part = part});
  const bool levels =
      all([](const Nodes& of) { return of.count() > 1 && why_one_level(of).empty(); });
  if (options.one_level || !levels) return make_mpi({.part = part});
  const int place = int(std::count(part_of.begin(), part_of.begin() + ptrdiff_t(rank), part));
  const int node_ranks = parts[size_t(part)].ranks()[0];
  auto within = make_shm({.part = part * nodes.count() + place / node_ranks});
  return make_two_level(std::move(within),
                        make_mpi({.part = part * node_ranks + place % node_ranks, .agreed = true}));
}

}  // namespace zero::comm
