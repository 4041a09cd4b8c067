#include <array>

#include "zero/plan/forecast.hpp"

namespace zero::plan {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
/// What CUDA's context and the workspaces of its libraries take of a card before any plan does.
/// Users report 300 to 400 MB of a bare context on a V100 and 320 MB on a Titan V (pytorch issues
/// 20532 and 28394), and the same with modules that are loaded as they are called (107667); the
/// rest is for products and attention.
constexpr double kContextGib = 0.5;

/// A card as its maker describes it: dense products in fp32 and in 16 bits, memory, link.
struct Card {
  const char* name;
  double gib;
  double fp32_tflops;
  double half_tflops;
  double memory_gb;
  double link_gb;
};

// Memory of the 24 GB cards as the articles' own failure reports print it. Rates: data sheets
// (Titan RTX, RTX 3090, V100 SXM2, H100 SXM, H200); links: PCIe 3 and 4 x16, NVLink 2 and 4.
constexpr std::array kCards{
    Card{"titan_rtx_24g", 23.65, 16.3, 130, 672, 12},
    Card{"rtx_3090_24g", 23.70, 35.6, 71, 936, 24},
    Card{"v100_32g", 31.75, 15.7, 125, 900, 120},
    Card{"h100_80g", 79.1, 67, 989, 3350, 360},
    Card{"h200_141g", 139.8, 67, 989, 4800, 360},
};

}  // namespace

Machine machine_profile(const std::string& name, Dtype compute) {
  if (name == "host") return {.name = name};
  std::string known = "host";
  for (const Card& card : kCards) {
    known += std::string(", ") + card.name;
    if (name != card.name) continue;
    // Large products reach about three quarters of the data sheet.
    const double tflops = compute == Dtype::f32 ? card.fp32_tflops : card.half_tflops;
    return {.name = name,
            .device_bytes = int64_t(card.gib * kGiB),
            .context_bytes = int64_t(kContextGib * kGiB),
            .product_flops = 0.75e12 * tflops,
            .memory_bandwidth = 0.8e9 * card.memory_gb,
            .link_bandwidth = 1e9 * card.link_gb,
            .link_latency = 2e-5};
  }
  refuse(Exit::kUsage, "--machine ", name, ": unknown machine; known are ", known);
}

}  // namespace zero::plan
