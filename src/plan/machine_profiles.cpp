#include <algorithm>
#include <array>
#include <bit>

#include "zero/base/align.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::plan {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
/// Device memory of CUDA's context and its libraries' workspaces, outside plans. Users report 300
/// to 400 MB for a bare context on a V100 (pytorch issue 20532) and 320 MB on a Titan V (28394).
/// Lazily loaded modules take the same (107667). The rest is for products and attention.
constexpr double kContextGib = 0.5;

/// NCCL's buffers outside plans, for cards whose links use all channels. On 8 H100 a first
/// all-to-all takes 3.28 GB of each (nccl issue 1685): 32 channels to each of 7 peers, with blocks
/// of 10 and 2 MiB. A group that adds takes 688 MB of an A100 (issue 964). Both are linear in the
/// channels, which follow the links' rate, and do not grow beyond a node (issue 986).
constexpr double kPeerBytes = 3.28e9 / 7, kRingBytes = 688e6;
constexpr double kPeerLinkGb = 360, kRingLinkGb = 240;
/// Buffer for arriving shards of a reduce_scatter.
constexpr int64_t kStagingBytes = int64_t(64) << 20;

/// A node as sold, or as described in an article.
struct Node {
  int64_t gpus;
  double host_gb;  ///< host memory, in 1e9 bytes
  double link_gb;  ///< link of the whole node to others, in one direction
};

/// A card with its maker's figures: dense products in fp32 and 16 bits, memory, link to other
/// cards. For its host: copies in one direction, and the card's part of the memory rate.
struct Card {
  const char* name;
  const char* model;    ///< part of its driver's name
  const char* variant;  ///< further part, if cards of a model differ in memory; "" = any
  double gib;
  double fp32_tflops;
  double half_tflops;
  double memory_gb;
  double link_gb;
  double copy_gb;
  double host_gb;
  Node node;
};

// Sources of the figures:
// - Memory: the 24 GB cards as the articles' failure reports print it, the others as PyTorch's do.
//   These are vllm issue 4408 for the A100 of 80 GB and torchao pull request 4002 for the B200. The
//   B200 is sold with 192 GB but shows programs 178.
// - Rates: data sheets (Titan RTX, RTX 3090, V100 SXM2, A100 SXM4, H100 SXM, H200, B200). The
//   B200's memory rate follows from its bus, as in that pull request.
// - Links: PCIe 3 and 4 x16, four fifths of a direction of NVLink 2 to 5. Copies: PCIe 3, 4 and 5
//   x16.
// - Hosts: a card's part, as triads reach it. Two cards share four memory channels; eight share
//   eight, or sixteen of DDR4 or DDR5.
// - Nodes: the articles' two Titan RTX with 60 GB and one RTX 3090 with 96 GB, on 10 Gb/s Ethernet;
//   NVIDIA's DGX-1, A100, H100, H200 and B200 with eight cards each. A tenth of their memory (512
//   GB, 1 TB, then 2 TB) is left to the system and its page cache. Their links, 4 x 100, 8 x 200
//   and 8 x 400 Gb/s of InfiniBand, reach four fifths.
constexpr Node kTwoTitans{2, 60, 1}, kOne3090{1, 96, 1}, kDgx1{8, 460, 40}, kDgxA100{8, 900, 160},
    kDgxA100Large{8, 1800, 160}, kDgxH100{8, 1800, 320};
constexpr std::array kCards{
    Card{"titan_rtx_24g", "TITAN RTX", "", 23.65, 16.3, 130, 672, 12, 12, 30, kTwoTitans},
    Card{"rtx_3090_24g", "RTX 3090", "", 23.70, 35.6, 71, 936, 24, 24, 30, kOne3090},
    Card{"v100_32g", "V100", "", 31.75, 15.7, 125, 900, 120, 12, 16, kDgx1},
    Card{"a100_40g", "A100", "40GB", 39.39, 19.5, 312, 1555, 240, 24, 40, kDgxA100},
    Card{"a100_80g", "A100", "80GB", 79.15, 19.5, 312, 2039, 240, 24, 40, kDgxA100Large},
    Card{"h100_80g", "H100", "", 79.1, 67, 989, 3350, 360, 50, 60, kDgxH100},
    Card{"h200_141g", "H200", "", 139.8, 67, 989, 4800, 360, 50, 60, kDgxH100},
    Card{"b200_192g", "B200", "", 178.3, 75, 2250, 7670, 720, 50, 60, kDgxH100},
};

CommunicatorMemory communicators_of(const Card& card) {
  const auto share = [&](double link_gb) { return std::min(1.0, card.link_gb / link_gb); };
  return {.ring_bytes = int64_t(kRingBytes * share(kRingLinkGb)),
          .peer_bytes = int64_t(kPeerBytes * share(kPeerLinkGb)),
          .own_bytes = kStagingBytes};
}

Machine machine_of(const Card& card, Dtype compute) {
  // Large products reach about three quarters of the data sheet.
  const double tflops = compute == Dtype::f32 ? card.fp32_tflops : card.half_tflops;
  return {.name = card.name,
          .device_bytes = int64_t(card.gib * kGiB),
          .context_bytes = int64_t(kContextGib * kGiB),
          .communicators = communicators_of(card),
          .product_flops = 0.75e12 * tflops,
          .has_memory = true,
          .memory_bandwidth = 0.8e9 * card.memory_gb,
          .link_bandwidth = 1e9 * card.link_gb,
          .link_latency = 2e-5,
          .gpus_per_node = card.node.gpus,
          .host_bytes = int64_t(1e9 * card.node.host_gb),
          .node_link_bandwidth = 1e9 * card.node.link_gb,
          .host_bandwidth = 1e9 * card.host_gb,
          .copy_bandwidth = 1e9 * card.copy_gb};
}

}  // namespace

int64_t CommunicatorMemory::of(int64_t ranks, int64_t node_ranks) const {
  if (ranks <= 1) return 0;
  if (measured > 0) return measured;
  return ring_bytes + (std::min(ranks, node_ranks) - 1) * peer_bytes + own_bytes;
}

std::string profile_of(const std::string& device) {
  const auto has = [&](const char* part) { return device.find(part) != device.npos; };
  for (const Card& card : kCards) {
    if (has(card.model) && has(card.variant)) return card.name;
  }
  return "host";
}

std::string card_names() {
  std::string names;
  for (const Card& card : kCards) names += text(names.empty() ? "" : ", ", card.name);
  return names;
}

Machine machine_profile(const std::string& name, Dtype compute) {
  if (name == "host") return {.name = name};
  for (const Card& card : kCards) {
    if (name == card.name) return machine_of(card, compute);
  }
  refuse(Exit::kUsage, name, ": unknown machine; known are host, ", card_names());
}

int64_t nodes_of(const Machine& machine, int64_t ranks) {
  return machine.node_ranks > 0 ? ceil_div(ranks, machine.node_ranks) : 1;
}

comm::Border border_of(const Machine& machine, int64_t ranks) {
  if (machine.borders) return machine.borders->at(size_t(Team::all));
  const int64_t here = machine.node_ranks;
  if (nodes_of(machine, ranks) == 1) return {};
  const bool levels =
      !machine.has_memory && here > 1 && ranks % here == 0 && std::has_single_bit(uint64_t(here));
  return {.node_ranks = here, .gathers_once = levels || machine.has_memory, .sums_once = levels};
}

Machine seen_by(const Machine& machine, const Groups& groups, Team team) {
  Machine seen = machine;
  if (team == Team::all) return seen;
  if (machine.borders) (*seen.borders)[size_t(Team::all)] = (*machine.borders)[size_t(team)];
  if (machine.node_ranks == 0) return seen;
  const int64_t beside = std::min<int64_t>(machine.node_ranks, groups.group_ranks);
  seen.node_ranks = beside;
  if (team == Team::group) return seen;
  seen.node_ranks = std::max<int64_t>(1, machine.node_ranks / groups.group_ranks);
  seen.node_link_bandwidth /= double(beside);
  return seen;
}

Borders borders_of(const Machine& machine, const Groups& groups) {
  Borders borders{};
  for (const Team team : kAllTeams)
    borders[size_t(team)] = border_of(seen_by(machine, groups, team), groups.ranks_of(team));
  return borders;
}

int64_t ranks_on_a_node(const Machine& machine, int64_t ranks) {
  if (machine.gpus_per_node == 0) return ranks;
  return ceil_div(ranks, ceil_div(ranks, std::min(ranks, machine.gpus_per_node)));
}

}  // namespace zero::plan
