#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "zero/base/error.hpp"

namespace zero {

/// A device that this process may use.
struct DeviceInfo {
  std::string name;  ///< "NVIDIA H200"
  std::string id;    ///< unique on a node: its place on the bus and its serial digits
  int64_t bytes;
  int processors;  ///< multiprocessors
  int major, minor;
};

/// True if this build drives devices beside the host (ZERO_DEVICE of the build). device_kind()
/// returns their kind, "cuda" or "host".
bool drives_devices();
const char* device_kind();

/// Returns the devices that this process may use (CUDA_VISIBLE_DEVICES counts). Empty on a host
/// build, without a driver, or if the build has code for none of them. Needs no Kokkos.
std::vector<DeviceInfo> usable_devices();
/// Returns why usable_devices() is empty, in the driver's words: "no CUDA-capable device is
/// detected".
std::string device_trouble();
/// Returns kDevice if usable_devices() is empty by a fault of a card, a driver or a service of the
/// driver. Else kUsage.
Exit exit_of_device_trouble();

/// Directs this thread's work and allocations to usable_devices()[index]. Every thread that queues
/// work on a Stream calls adopt_threads(), which does it too.
void use_device(int index);
/// Returns the number of the device in use for Kokkos and CUDA. -1 if none was chosen, and on a
/// host build.
int device_in_use();

/// Returns the name of the device in use and its memory, over all processes: "NVIDIA H200, 12.30
/// GiB used, 127.51 GiB free". "" on a host build.
std::string device_text();

/// Returns the free bytes of the device in use. used_device_bytes() returns the others. Both are
/// over all processes, and -1 on a host build.
int64_t free_device_bytes();
int64_t used_device_bytes();

/// The devices of a node, as its ranks see them.
struct NodeDevices {
  std::string host;
  /// the ids of the devices that each rank may use, in its order; indexed by rank of the node
  std::vector<std::vector<std::string>> of_rank;
  std::string trouble;       ///< error text if the asking rank sees no device
  Exit exit = Exit::kUsage;  ///< exit status for `trouble`
  bool share = false;        ///< run.share_device: several ranks may drive one device
};

/// Returns the index in of_rank[node_rank] of the device that this rank drives. Every rank takes
/// the first device that no earlier rank has taken, so rank r gets device r. A rank to which the
/// launcher shows a single device gets that device. If `share` is set and none is left, the rank
/// takes a device with the fewest ranks.
///
/// Throws Error(node.exit) if the rank sees no device. Throws Error(kUsage) if the node has fewer
/// devices than ranks and `share` is off. The text names a remedy.
int choose_device(const NodeDevices& node, int node_rank);

/// True if any two ranks of the node drive the same device.
bool shares_devices(const NodeDevices& node);

/// Returns a warning, with its remedy, if a launcher shows each of several ranks of the node only
/// one device of its own. NCCL may then not reach a peer's memory directly. Else "".
std::string hidden_devices_warning(const NodeDevices& node);

/// True if any two ranks of the node drive one device or parts of one. Parts have the same place on
/// the bus.
bool shares_cards(const NodeDevices& node);

/// Returns advice to print after CUDA's error if a limit of addresses stops CUDA. `limit` is
/// process_limit(RLIMIT_AS), in bytes. CUDA reserves addresses for all memory of host and devices,
/// and reports a refusal as lack of memory. "" if there is no limit.
std::string address_space_hint(int64_t limit);

/// The cores that a rank takes beside its device.
struct CoreChoice {
  std::vector<int> cores;  ///< ascending
  std::string words;       ///< text for people: "12 cores near it"
};
/// Chooses the cores of `allowed`, those that the launcher allows, which are also in `near`, those
/// near the device. Chooses all allowed cores if none of them is near or `near` is empty, because
/// the launcher's word counts.
CoreChoice choose_cores(const std::vector<int>& allowed, const std::vector<int>& near);

}  // namespace zero
