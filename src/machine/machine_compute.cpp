#include <Kokkos_Core.hpp>

#include "src/machine/probes.hpp"
#include "zero/advise/outlook.hpp"
#include "zero/base/text.hpp"
#include "zero/kernels/product.hpp"
#include "zero/machine/machine.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/train/banner.hpp"

namespace zero::machine {
namespace {

/// Returns "NVIDIA H200, 139.81 GiB, 132 multiprocessors, architecture 9.0".
std::string words_of(const DeviceInfo& device) {
  return text(device.name, ", ", bytes_text(double(device.bytes)), ", ",
              counted(device.processors, "multiprocessor"), ", architecture ", device.major, ".",
              device.minor);
}

/// Returns "4.7.0, OpenMP, 2 threads".
std::string kokkos_words(int threads) {
  return text(train::kokkos_text(), ", ", Kokkos::DefaultExecutionSpace::name(), ", ",
              counted(threads, "thread"));
}

Finding products_finding() {
  const std::string library = kernels::product_library();
  Finding finding{.subject = "products", .found = library + ", " + kernels::product_isa()};
  if (!drives_devices() && !library.starts_with("oneDNN")) {
    finding.verdict = Verdict::warning;
    finding.advice = "far slower than oneDNN: install libdnnl-dev, run cmake and build again";
  }
  return finding;
}

Finding peak_finding(const char* subject, double flops, int threads) {
  if (flops == 0) {
    return {.subject = subject,
            .verdict = Verdict::warning,
            .found = "too slow to be measured in a moment",
            .advice = "look at the products, the binding and what else runs on this node"};
  }
  return {.subject = subject,
          .found = text("with ", counted(threads, "thread")),
          .figure = flops / 1e9,
          .unit = "GFLOP/s"};
}

}  // namespace

Finding device_finding(const NodeDevices& node, int node_rank,
                       const std::vector<DeviceInfo>& devices) {
  Finding finding = asked("GPU", [&] {
    choose_device(node, node_rank);
    return text(devices.size(), " x ", words_of(devices.front()));
  });
  const std::string hidden = hidden_devices_warning(node);
  if (finding.verdict != Verdict::good || hidden.empty()) return finding;
  const size_t advice = hidden.find("; ");
  finding.verdict = Verdict::warning;
  finding.found += ": " + hidden.substr(0, advice);
  finding.advice = hidden.substr(advice + 2);
  return finding;
}

std::string card_name(bool drives, const std::vector<DeviceInfo>& devices,
                      const std::string& trouble, Exit exit) {
  constexpr const char* kInstead =
      "zeroapp calibrate --out FILE measures it, for plan --machine FILE";
  if (!drives) return "host";
  if (devices.empty()) refuse(exit, "no GPU that this build can use: ", trouble);
  const DeviceInfo& device = devices.front();
  const std::string name = plan::profile_of(device.name);
  if (name == "host") {
    refuse(Exit::kUsage, device.name, ": is none of ", plan::card_names(), "; ", kInstead);
  }
  // A driver may reserve a part. A card of this name with half the memory is another model.
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

Findings arithmetic_findings(const launch::Session& session) {
  const int threads = session.threads();
  const double fp32 = advise::measure_product_peak(threads, Dtype::f32, advise::kReportSeconds);
  const double bf16 = advise::measure_product_peak(threads, Dtype::bf16, advise::kReportSeconds);
  Findings findings = {{.subject = "Kokkos", .found = kokkos_words(threads)},
                       products_finding(),
                       peak_finding("peak fp32", fp32, threads),
                       peak_finding("peak bf16", bf16, threads)};
  if (bf16 > 0 && bf16 < fp32) {
    findings.back().verdict = Verdict::warning;
    findings.back().advice =
        "this processor has no bf16 products: bf16.enabled saves memory here, "
        "not time";
  }
  return findings;
}

}  // namespace zero::machine
