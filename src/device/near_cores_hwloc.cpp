#include <hwloc.h>

#include <memory>

#include "zero/device/device.hpp"

namespace zero {
namespace {

struct Closing {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Closing>;

/// Returns null if hwloc cannot read the machine.
Topology open(const std::string& machine) {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return nullptr;
  Topology topology(made);
  hwloc_topology_set_io_types_filter(made, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (!machine.empty() && hwloc_topology_set_xml(made, machine.c_str()) != 0) return nullptr;
  return hwloc_topology_load(made) == 0 ? std::move(topology) : nullptr;
}

}  // namespace

std::vector<int> cores_near(const std::string& bus_id, const std::string& machine) {
  const Topology topology = open(machine);
  if (topology == nullptr) return {};
  const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology.get(), bus_id.c_str());
  if (device == nullptr) return {};
  const hwloc_obj_t around = hwloc_get_non_io_ancestor_obj(topology.get(), device);
  // A device that belongs to the machine as a whole is near to no core.
  if (around == nullptr || around->type == HWLOC_OBJ_MACHINE) return {};
  std::vector<int> cores;
  unsigned core = 0;
  hwloc_bitmap_foreach_begin(core, around->cpuset) cores.push_back(int(core));
  hwloc_bitmap_foreach_end();
  return cores;
}

bool knows_machines() { return true; }

}  // namespace zero
