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

/// A card as its maker describes it: dense products in fp32 and in 16 bits, memory, link to other
/// cards; and its host: copies in one direction, and a card's part of the memory's rate.
struct Card {
  const char* name;
  const char* model;  ///< part of what its driver calls it
  double gib;
  double fp32_tflops;
  double half_tflops;
  double memory_gb;
  double link_gb;
  double copy_gb;
  double host_gb;
};

// Memory of the 24 GB cards as the articles' own failure reports print it. Rates: data sheets
// (Titan RTX, RTX 3090, V100 SXM2, H100 SXM, H200); links: PCIe 3 and 4 x16, NVLink 2 and 4. Copies
// go by PCIe 3, 4 and 5 x16. Hosts: a card's part, as triads reach it, of four channels of memory
// for two cards, of eight for eight, and of sixteen of DDR5 for eight.
constexpr std::array kCards{
    Card{"titan_rtx_24g", "TITAN RTX", 23.65, 16.3, 130, 672, 12, 12, 30},
    Card{"rtx_3090_24g", "RTX 3090", 23.70, 35.6, 71, 936, 24, 24, 30},
    Card{"v100_32g", "V100", 31.75, 15.7, 125, 900, 120, 12, 16},
    Card{"h100_80g", "H100", 79.1, 67, 989, 3350, 360, 50, 60},
    Card{"h200_141g", "H200", 139.8, 67, 989, 4800, 360, 50, 60},
};

}  // namespace

std::string profile_of(const std::string& device) {
  for (const Card& card : kCards) {
    if (device.find(card.model) != device.npos) return card.name;
  }
  return "host";
}

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
            .has_memory = true,
            .memory_bandwidth = 0.8e9 * card.memory_gb,
            .link_bandwidth = 1e9 * card.link_gb,
            .link_latency = 2e-5,
            .host_bandwidth = 1e9 * card.host_gb,
            .copy_bandwidth = 1e9 * card.copy_gb};
  }
  refuse(Exit::kUsage, name, ": unknown machine; known are ", known);
}

}  // namespace zero::plan
