#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zero {

/// What the ranks of a node see of its devices.
struct NodeDevices {
  std::string host;
  /// The devices that each rank of the node may use, by their own names, in its order; in rank
  /// order.
  std::vector<std::vector<std::string>> of_rank;
  std::string trouble;  ///< why the asking rank sees none
  bool share = false;   ///< run.share_device: several ranks may drive one device
};

/// The place in of_rank[node_rank] of the device that this rank drives: the first that no rank
/// before it has taken, so rank r gets device r, and a rank that a launcher shows one device gets
/// that one. With `share`, and none left, the one that the fewest have taken.
///
/// Throws Error(kUsage) where the rank sees no device, or where the node has fewer devices than
/// ranks and `share` is off; the text names what would work.
int choose_device(const NodeDevices& node, int node_rank);

/// Whether any two ranks drive the same device.
bool shares_devices(const NodeDevices& node);

/// What to tell behind CUDA's own words where it does not start under a limit of address space,
/// process_limit(RLIMIT_AS): it reserves as much as host and devices have memory, and then says
/// that memory has run out. "" where there is no limit.
std::string address_space_hint(int64_t limit);

}  // namespace zero
