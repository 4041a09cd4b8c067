#include "src/machine/probes.hpp"
#include "zero/base/text.hpp"
#include "zero/machine/machine.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::machine {
namespace {

/// "NVIDIA H200, 139.81 GiB, 132 multiprocessors, architecture 9.0".
std::string words_of(const DeviceInfo& device) {
  return text(device.name, ", ", bytes_text(double(device.bytes)), ", ",
              counted(device.processors, "multiprocessor"), ", architecture ", device.major, ".",
              device.minor);
}

}  // namespace

Finding device_finding(const NodeDevices& node, int node_rank,
                       const std::vector<DeviceInfo>& devices) {
  return asked("GPU", [&] {
    choose_device(node, node_rank);
    return text(devices.size(), " x ", words_of(devices.front()));
  });
}

std::string card_name(bool drives, const std::vector<DeviceInfo>& devices,
                      const std::string& trouble) {
  constexpr const char* kInstead =
      "zeroapp calibrate --out FILE measures it, for plan --machine FILE";
  if (!drives) return "host";
  if (devices.empty()) refuse(Exit::kUsage, "no GPU that this build can use: ", trouble);
  const DeviceInfo& device = devices.front();
  const std::string name = plan::profile_of(device.name);
  if (name == "host") {
    refuse(Exit::kUsage, device.name, ": is none of ", plan::card_names(), "; ", kInstead);
  }
  // A driver may keep a part to itself; cards of one name with half the memory are others.
  const int64_t known = plan::machine_profile(name, Dtype::bf16).device_bytes;
  if (device.bytes < known / 10 * 9) {
    refuse(Exit::kUsage, device.name, ": has ", bytes_text(double(device.bytes)), ", ", name,
           " has ", bytes_text(double(known)), "; ", kInstead);
  }
  return name;
}

Findings device_findings(launch::Session& session) {
  if (!drives_devices()) return {};
  const auto [node, node_rank] = session.node_devices(false);
  return {device_finding(node, node_rank, usable_devices())};
}

}  // namespace zero::machine
