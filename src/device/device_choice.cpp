#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/device/device.hpp"

namespace zero {
namespace {

/// Ranks that have taken each device so far.
using Taken = std::map<std::string, int>;

int count_of(const Taken& taken, const std::string& device) {
  const auto found = taken.find(device);
  return found == taken.end() ? 0 : found->second;
}

/// Returns the index of the device with the fewest ranks. The first among equals.
int least_taken(const Taken& taken, const std::vector<std::string>& devices) {
  const auto fewer = [&](const std::string& a, const std::string& b) {
    return count_of(taken, a) < count_of(taken, b);
  };
  return int(std::min_element(devices.begin(), devices.end(), fewer) - devices.begin());
}

/// Returns the number of different devices that the node's ranks see.
size_t device_count(const NodeDevices& node) {
  std::set<std::string> all;
  for (const auto& devices : node.of_rank) all.insert(devices.begin(), devices.end());
  return all.size();
}

[[noreturn]] void refuse_none(const NodeDevices& node) {
  if (node.exit == Exit::kDevice)
    refuse(node.exit, "no usable CUDA device found on ", node.host, ": ", node.trouble);
  refuse(Exit::kUsage, "no usable CUDA device found on ", node.host, " (", node.trouble,
         ") - this build trains on one GPU a rank: run it where there is one, or build for the "
         "host (cmake --preset host-release); zeroapp plan works here too");
}

[[noreturn]] void refuse_few(const NodeDevices& node) {
  const size_t devices = device_count(node);
  refuse(Exit::kUsage, node.of_rank.size(), " ranks on ", node.host, ", which shows them ", devices,
         devices == 1 ? " GPU" : " GPUs", " - start ", devices,
         " there, or set run.share_device = true: ranks then share GPUs, and what they exchange "
         "goes through host memory");
}

/// Returns the index of the device that each rank chooses, -1 for a rank that sees none.
std::vector<int> choose_all(const NodeDevices& node) {
  Taken taken;
  std::vector<int> places;
  for (const auto& devices : node.of_rank) {
    if (devices.empty()) {
      places.push_back(-1);
      continue;
    }
    const int place = least_taken(taken, devices);
    ++taken[devices[size_t(place)]];
    places.push_back(place);
  }
  return places;
}

/// True if the devices of two ranks have the same name. `name` extracts it from DeviceInfo::id.
template <class Name>
bool any_twice(const NodeDevices& node, const Name& name) {
  const std::vector<int> places = choose_all(node);
  std::set<std::string> used;
  for (size_t rank = 0; rank < places.size(); ++rank) {
    if (places[rank] < 0) continue;
    if (!used.insert(name(node.of_rank[rank][size_t(places[rank])])).second) return true;
  }
  return false;
}

}  // namespace

bool shares_devices(const NodeDevices& node) {
  return any_twice(node, [](const std::string& id) { return id; });
}

bool shares_cards(const NodeDevices& node) {
  return any_twice(node, [](const std::string& id) { return id.substr(0, id.find(' ')); });
}

std::string hidden_devices_warning(const NodeDevices& node) {
  const auto is_single = [](const std::vector<std::string>& devices) {
    return devices.size() == 1;
  };
  const bool each_has_one = std::ranges::all_of(node.of_rank, is_single);
  if (node.of_rank.size() < 2 || !each_has_one || device_count(node) < node.of_rank.size())
    return "";
  return text(
      "each of the ", node.of_rank.size(), " ranks on ", node.host,
      " sees one GPU alone, so NCCL may go through host memory at a tenth of the speed; let "
      "all ranks see all GPUs: srun --gpu-bind=none with --gpus-per-node in place of "
      "--gpus-per-task, and no CUDA_VISIBLE_DEVICES of a rank's own");
}

int choose_device(const NodeDevices& node, int node_rank) {
  ZERO_REQUIRE(node_rank >= 0 && size_t(node_rank) < node.of_rank.size(), "rank ", node_rank,
               " of a node with ", node.of_rank.size());
  if (node.of_rank[size_t(node_rank)].empty()) refuse_none(node);
  if (!node.share && shares_devices(node)) refuse_few(node);
  return choose_all(node)[size_t(node_rank)];
}

std::string address_space_hint(int64_t limit) {
  if (limit < 0) return "";
  return text("; CUDA reserves address space for all memory of host and devices, and this process ",
              "may have ", limit >> 20, " MiB of it: write ulimit -v unlimited");
}

CoreChoice choose_cores(const std::vector<int>& allowed, const std::vector<int>& near) {
  std::vector<int> both;
  std::set_intersection(allowed.begin(), allowed.end(), near.begin(), near.end(),
                        std::back_inserter(both));
  if (!both.empty()) return {both, counted(int64_t(both.size()), "core") + " near it"};
  const char* const doubt = near.empty() ? "" : ", none of them near it";
  return {allowed, counted(int64_t(allowed.size()), "core") + doubt};
}

}  // namespace zero
