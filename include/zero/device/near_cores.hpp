#pragma once

#include <string>
#include <vector>

namespace zero {

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
/// Of the cores that a launcher allows those that are near the device; all of them where none is,
/// since a launcher's word counts, or where it is not known which are.
CoreChoice choose_cores(const std::vector<int>& allowed, const std::vector<int>& near);

}  // namespace zero
