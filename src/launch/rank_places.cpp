#include "zero/launch/rank_places.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/launch/session.hpp"

namespace zero::launch {
namespace {

using Json = nlohmann::ordered_json;
using Places = std::vector<RankPlace>;

/// Ranks of each node, and the nodes by their lowest rank.
struct Hosts {
  std::map<std::string, std::vector<int>> ranks_of = {};
  std::vector<std::string> names = {};

  explicit Hosts(const Places& places) {
    for (size_t rank = 0; rank < places.size(); ++rank) {
      std::vector<int>& ranks = ranks_of[places[rank].host];
      if (ranks.empty()) names.push_back(places[rank].host);
      ranks.push_back(int(rank));
    }
  }
};

/// Returns "rank 2", "ranks 0 and 1", "ranks 0, 1, 2 and 13 more".
std::string ranks_text(const std::vector<int>& ranks) {
  constexpr size_t kNamed = 3;
  std::string out = text(ranks.size() == 1 ? "rank " : "ranks ", ranks[0]);
  if (ranks.size() == 2) return text(out, " and ", ranks[1]);
  for (size_t i = 1; i < std::min(kNamed, ranks.size()); ++i) out += text(", ", ranks[i]);
  return ranks.size() > kNamed ? text(out, " and ", ranks.size() - kNamed, " more") : out;
}

/// Returns "core 3" or "cores 0-7".
std::string cores_text(const Numbers& cores) {
  return text(cores.size() == 1 ? "core " : "cores ", list_text(cores));
}

std::string sockets_text(const Numbers& sockets) {
  return text(sockets.size() == 1 ? "socket " : "sockets ", list_text(sockets));
}

/// Adds the faults of ranks of one node that share fewer cores than they are.
void add_crowded(const Places& places, const std::vector<int>& ranks,
                 std::vector<PlacementFault>& faults) {
  std::map<Numbers, std::vector<int>> sharers;
  for (const int rank : ranks) sharers[places[size_t(rank)].allowed].push_back(rank);
  const RankPlace& first = places[size_t(ranks[0])];
  const size_t cores = first.node_cores.size();
  if (cores < ranks.size()) return;
  for (const auto& [shared, those] : sharers) {
    if (shared.empty() || shared.size() >= those.size()) continue;
    faults.push_back(
        {.what = text(ranks_text(those), " of node ", first.host, " share ", cores_text(shared),
                      ", of ", cores, " there"),
         .advice = text("mpirun --bind-to none, or srun --cpus-per-task=", cores / ranks.size()),
         .is_refused = sharers.size() > 1});
  }
}

/// Returns the worst of these faults of all nodes, with the number of the others.
std::vector<PlacementFault> crowded(const Places& places, const Hosts& hosts) {
  std::vector<PlacementFault> all;
  for (const std::string& name : hosts.names) add_crowded(places, hosts.ranks_of.at(name), all);
  if (all.empty()) return {};
  const auto refused = std::ranges::find_if(all, &PlacementFault::is_refused);
  PlacementFault worst = refused == all.end() ? all[0] : *refused;
  if (all.size() > 1) {
    worst.what += text("; ", counted(int64_t(all.size()) - 1, "other group"), " likewise");
  }
  return {worst};
}

bool is_far(const RankPlace& place) {
  if (place.sockets.empty() || place.device_sockets.empty()) return false;
  Numbers both;
  std::ranges::set_intersection(place.sockets, place.device_sockets, std::back_inserter(both));
  return both.empty();
}

/// Returns the fault of the first rank that is far from its device, with the number of others.
std::vector<PlacementFault> distant(const Places& places) {
  const auto first = std::ranges::find_if(places, is_far);
  if (first == places.end()) return {};
  const auto others = std::ranges::count_if(places, is_far) - 1;
  return {{.what = text("rank ", first - places.begin(), " of node ", first->host, " drives ",
                        first->device, " at ", sockets_text(first->device_sockets), " from ",
                        cores_text(first->cores), " of ", sockets_text(first->sockets),
                        others == 0 ? "" : text("; ", counted(others, "other rank"), " likewise")),
           .advice = "srun --cpu-bind=none or mpirun --bind-to none: each rank then takes cores "
                     "near its GPU"}};
}

/// Returns the fault of the first node with other ranks between its own.
std::vector<PlacementFault> scattered(const Hosts& hosts) {
  for (const std::string& name : hosts.names) {
    const std::vector<int>& ranks = hosts.ranks_of.at(name);
    if (ranks.back() - ranks.front() + 1 == int(ranks.size())) continue;
    return {{.what = text(ranks_text(ranks), " of node ", name, " are no neighbours"),
             .advice = "srun --distribution=block, or mpirun --map-by slot: collectives then "
                       "cross between nodes less often"}};
  }
  return {};
}

std::vector<PlacementFault> unequal(const Hosts& hosts) {
  const std::string& first = hosts.names[0];
  const size_t ranks = hosts.ranks_of.at(first).size();
  for (const std::string& name : hosts.names) {
    const size_t here = hosts.ranks_of.at(name).size();
    if (here == ranks) continue;
    return {{.what = text("node ", first, " has ", counted(int64_t(ranks), "rank"), ", node ", name,
                          " has ", here),
             .advice = "start as many on each node (srun --ntasks-per-node, mpirun --map-by "
                       "ppr:N:node): collectives then cross between nodes less often"}};
  }
  return {};
}

Numbers numbers_in(const Json& json, const char* name) { return json.at(name).get<Numbers>(); }

}  // namespace

RankPlace place_of(const NodeParts& node, RankPlace place) {
  place.node_cores = node.cores();
  place.sockets = node.sockets_of(place.cores);
  place.numa_nodes = node.numa_nodes_of(place.cores);
  // Pages come from the node of the core that touches them first, if it may be used.
  const Numbers allowed = node.memory_nodes();
  std::ranges::set_intersection(place.numa_nodes, allowed, std::back_inserter(place.memory_nodes));
  if (place.memory_nodes.empty()) place.memory_nodes = allowed;
  if (place.device.empty()) return place;
  place.device_numa_node = node.numa_node_of(place.device);
  if (place.device_numa_node >= 0) {
    place.device_sockets = node.sockets_of(node.cores_of(place.device_numa_node));
  }
  return place;
}

std::string pack_place(const RankPlace& place) {
  const Json json = {{"host", place.host},
                     {"device", place.device},
                     {"device_numa_node", place.device_numa_node},
                     {"device_sockets", place.device_sockets},
                     {"allowed", place.allowed},
                     {"cores", place.cores},
                     {"sockets", place.sockets},
                     {"numa_nodes", place.numa_nodes},
                     {"memory_nodes", place.memory_nodes},
                     {"node_cores", place.node_cores}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RankPlace unpack_place(const std::string& packed) {
  const Json json = Json::parse(packed);
  return {.host = json.at("host"),
          .device = json.at("device"),
          .device_numa_node = json.at("device_numa_node"),
          .device_sockets = numbers_in(json, "device_sockets"),
          .allowed = numbers_in(json, "allowed"),
          .cores = numbers_in(json, "cores"),
          .sockets = numbers_in(json, "sockets"),
          .numa_nodes = numbers_in(json, "numa_nodes"),
          .memory_nodes = numbers_in(json, "memory_nodes"),
          .node_cores = numbers_in(json, "node_cores")};
}

std::vector<PlacementFault> placement_faults(const Places& places) {
  if (places.empty()) return {};
  const Hosts hosts(places);
  std::vector<PlacementFault> faults;
  const auto add = [&](const std::vector<PlacementFault>& more) {
    faults.insert(faults.end(), more.begin(), more.end());
  };
  add(crowded(places, hosts));
  add(distant(places));
  add(scattered(hosts));
  add(unequal(hosts));
  return faults;
}

std::string placement_table(const Places& places) {
  constexpr const char* kRow = "%-5s %-14s %-21s %-5s %-7s %s\n";
  std::string out = format(kRow, "rank", "node", "device (NUMA node)", "NUMA", "memory", "cores");
  for (size_t rank = 0; rank < places.size(); ++rank) {
    const RankPlace& place = places[rank];
    const std::string device =
        place.device.empty()
            ? "-"
            : text(place.device, " (",
                   place.device_numa_node < 0 ? "?" : std::to_string(place.device_numa_node), ")");
    append(out, kRow, std::to_string(rank).c_str(), place.host.c_str(), device.c_str(),
           list_text(place.numa_nodes).c_str(), list_text(place.memory_nodes).c_str(),
           list_text(place.cores).c_str());
  }
  return out;
}

void check_placement(Session& session) {
  const std::vector<PlacementFault> faults = placement_faults(session.places());
  session.on_every_rank([&] {
    if (!session.is_first()) return;
    for (const PlacementFault& fault : faults) {
      if (fault.is_refused) refuse(Exit::kUsage, fault.what, " - ", fault.advice);
    }
    for (const PlacementFault& fault : faults) warn(fault.what, "; ", fault.advice);
  });
}

}  // namespace zero::launch
