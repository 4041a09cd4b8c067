#include "src/commands/doctor/probes.hpp"
#include "zero/advise/memory_limit.hpp"
#include "zero/base/text.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::commands {
namespace {

/// "NVIDIA H200, 139.81 GiB, 132 multiprocessors, architecture 9.0".
std::string words_of(const DeviceInfo& device) {
  return text(device.name, ", ", bytes_text(double(device.bytes)), ", ",
              counted(device.processors, "multiprocessor"), ", architecture ", device.major, ".",
              device.minor);
}

}  // namespace

Finding device_finding(const std::vector<DeviceInfo>& devices, const std::string& trouble,
                       int node_ranks) {
  Finding finding{.subject = "GPU", .found = text(devices.size(), " x ")};
  if (devices.empty()) {
    finding.verdict = Verdict::missing;
    finding.found = text("none that this build can use: ", trouble);
    finding.advice =
        "this build trains on one GPU a rank: run it where there is one, or build for the host "
        "(cmake --preset host-release); zeroapp plan works here too";
    finding.stops = Exit::kUsage;
    return finding;
  }
  finding.found += words_of(devices.front());
  if (int(devices.size()) < node_ranks) {
    finding.verdict = Verdict::warning;
    finding.advice = text("fewer than the ", counted(node_ranks, "rank"),
                          " of this node: start as many, or set run.share_device = true");
  }
  return finding;
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

Findings device_findings(const launch::Session& session) {
  if (!drives_devices()) return {};
  return {device_finding(usable_devices(), device_trouble(), session.node_ranks())};
}

}  // namespace zero::commands
