#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "zero/base/error.hpp"

namespace zero {

/// One device that this process may use.
struct DeviceInfo {
  std::string name;  ///< "NVIDIA H200"
  std::string id;    ///< its own on a node: where it is on the bus, and its serial digits
  int64_t bytes;
  int processors;  ///< multiprocessors
  int major, minor;
};

/// Whether this build drives devices beside the host (ZERO_DEVICE of the build), and its name.
bool drives_devices();
const char* device_kind();

/// The devices that this process may use (CUDA_VISIBLE_DEVICES is heeded); none on a host build,
/// without a driver, or where no device is of an architecture that the build has code for. Needs no
/// Kokkos.
std::vector<DeviceInfo> usable_devices();
/// Why usable_devices() is empty, as far as the driver says: "no CUDA-capable device is detected".
std::string device_trouble();
/// Returns kDevice where that is a fault of a card, a driver or their service; else kUsage.
Exit exit_of_device_trouble();

/// From now on this thread's work and allocations go to that of usable_devices(). Every thread that
/// begins work of its own on a Stream calls adopt_threads(), which does the same.
void use_device(int index);
/// The number by which Kokkos and CUDA know that device; -1 before, and on a host build.
int device_in_use();

/// The device in use: "NVIDIA H200, 12.30 GiB used, 127.51 GiB free" over all processes; "" on a
/// host build.
std::string device_text();

/// Bytes of the device in use that are free now, and those that are not, over all processes; -1 on
/// a host build.
int64_t free_device_bytes();
int64_t used_device_bytes();

/// What the ranks of a node see of its devices.
struct NodeDevices {
  std::string host;
  /// The devices that each rank of the node may use, by their own names, in its order; in rank
  /// order.
  std::vector<std::vector<std::string>> of_rank;
  std::string trouble;       ///< why the asking rank sees none
  Exit exit = Exit::kUsage;  ///< of that trouble
  bool share = false;        ///< run.share_device: several ranks may drive one device
};

/// The place in of_rank[node_rank] of the device that this rank drives: the first that no rank
/// before it has taken, so rank r gets device r, and a rank that a launcher shows one device gets
/// that one. With `share`, and none left, the one that the fewest have taken.
///
/// Throws Error(node.exit) where the rank sees no device, and Error(kUsage) where the node has
/// fewer devices than ranks and `share` is off; the text names what would work.
int choose_device(const NodeDevices& node, int node_rank);

/// Whether any two ranks drive the same device.
bool shares_devices(const NodeDevices& node);

/// Returns a warning where a launcher shows each of several ranks one device of its own, so that
/// NCCL may not reach a peer's memory directly; with the line that mends it. "" elsewhere.
std::string hidden_devices_warning(const NodeDevices& node);

/// True if any two ranks drive the same device or parts of one, which have the same place on the
/// bus.
bool shares_cards(const NodeDevices& node);

/// Advice to print after CUDA's error when an address-space limit, process_limit(RLIMIT_AS), stops
/// it: it reserves as much as host and devices have memory, and then says that memory has run out.
/// "" where there is no limit.
std::string address_space_hint(int64_t limit);

/// The cores whose memory is nearest to a device: those of the NUMA node that its bus belongs to.
/// By the kernel's numbers, ascending; empty where the machine does not say, and in a build without
/// hwloc.
///   bus_id   where the device is, "0000:3b:00.0": the first word of DeviceInfo::id
///   machine  a file in hwloc's XML to look at; "": this host
std::vector<int> cores_near(const std::string& bus_id, const std::string& machine = "");
/// Whether this build asks hwloc.
bool knows_machines();

/// Which cores a rank takes beside its device.
struct CoreChoice {
  std::vector<int> cores;  ///< ascending
  std::string words;       ///< for people: "12 cores near it"
};
/// Chooses the cores near the device that a launcher allows; all that it allows where none is near,
/// since a launcher's word counts, or where it is not known which are.
CoreChoice choose_cores(const std::vector<int>& allowed, const std::vector<int>& near);

}  // namespace zero
