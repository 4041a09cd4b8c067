#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Device memory that the communicators of a rank take beside its plan.
struct CommunicatorMemory {
  int64_t measured = 0;    ///< of all of them, at the ranks that measured; 0: by the next two
  int64_t ring_bytes = 0;  ///< of the connections by which ranks gather and add words
  int64_t peer_bytes = 0;  ///< for each peer of the node that shards are exchanged with
  int64_t own_bytes = 0;   ///< of the program's own, where shards arrive

  /// Returns the bytes in a run of `ranks`, `node_ranks` of them on a full node. One rank alone has
  /// no communicator that takes any.
  int64_t of(int64_t ranks, int64_t node_ranks) const;
};

/// What a machine can do; measured by `calibrate`, or a published figure of a named card.
struct Machine {
  std::string name;
  int64_t device_bytes = 0;   ///< that a process sees
  int64_t context_bytes = 0;  ///< of these for its context and libraries, in no plan
  CommunicatorMemory communicators = {};
  double product_flops = 1e11;  ///< a second, in the compute dtype
  /// Share of the rates of products and memory that ops of a kind reach; 1 of a kind that is not
  /// listed.
  std::map<std::string, double, std::less<>> kind_shares = {};
  /// Seconds of each exponential of a kind, whose products then have the share of "linear".
  std::map<std::string, double, std::less<>> exponential_seconds = {};
  double op_seconds = 0;           ///< that an op of the compute lane takes beside its work
  double random_rate = 0;          ///< numbers a second that dropout draws; 0: not known
  bool has_memory = false;         ///< its device has a memory of its own, beside the host's
  double memory_bandwidth = 2e10;  ///< bytes a second
  double link_bandwidth = 5e9;     ///< bytes a second that one rank sends within its node
  double link_latency = 2e-5;      ///< seconds a collective
  int64_t gpus_per_node = 0;       ///< 0: not known, all ranks on one node
  int64_t host_bytes = 0;          ///< memory of a node's host for a run; 0: not known
  /// Bytes a second that all ranks of a node together send to other nodes; 0: not known.
  double node_link_bandwidth = 0;
  double host_bandwidth = 2e10;   ///< bytes a second of host memory, for the host optimizer
  bool host_is_measured = false;  ///< else host_bandwidth is a published figure or a guess
  double copy_bandwidth = 1e10;   ///< between host and device, in one direction
  double disk_read_bandwidth = 1.5e9;
  double disk_write_bandwidth = 1.5e9;
  bool disk_is_measured = false;  ///< else both are a guess
  /// Ranks of a full node in the plan that is forecast; 0: all ranks share one.
  int64_t node_ranks = 0;
};

/// How many nodes these ranks take.
int64_t nodes_of(const Machine& machine, int64_t ranks);

/// How many ranks a node takes that has its fill, where nobody says: as few nodes as there are
/// GPUs for, with as equal numbers as can be. All on one where the machine does not know its GPUs.
int64_t ranks_on_a_node(const Machine& machine, int64_t ranks);

/// host, titan_rtx_24g, rtx_3090_24g, v100_32g, a100_40g, a100_80g, h100_80g, h200_141g, b200_192g;
/// Error(kUsage) lists them.
Machine machine_profile(const std::string& name, Dtype compute);

/// The profile of a device by its driver's name for it, "NVIDIA H200"; "host" of one that has none.
std::string profile_of(const std::string& device);

/// The names of all profiles but the host's, "titan_rtx_24g, rtx_3090_24g, ...".
std::string card_names();

/// One collective of a rank.
struct Sending {
  Kind kind = Kind::all_gather;
  int64_t ranks = 1;
  double bytes = 0;  ///< that the rank sends to all others, once for each of them
};

/// Seconds that it takes. On one node: a latency, and the bytes over the link of a rank. Over M
/// nodes of G ranks each (N = M G), with parts of p bytes of each rank, after that latency:
///   ring      M - 1 hops between nodes; each link, that of a rank and at a node's border that of
///             its node, carries N - 1 parts
///   tree      2 log2 M hops; each link carries all N parts up and down
///   exchange  one hop; each rank sends every other a part, so that G (N - G) parts leave a node
/// GPUs gather by NCCL's ring or tree, whichever is faster, hosts by an exchange. Sums are made of
/// an exchange everywhere, as they keep one order of terms at every number of ranks. Words of p
/// bytes are summed by a ring, twice around in N parts, or up and down a tree.
double collective_seconds(const Sending& sending, const Machine& machine);

struct CollectiveForecast {
  int64_t calls = 0;
  int64_t elements = 0;  ///< sent by one rank
  int64_t bytes = 0;
};

/// Gather, reduce, all-reduce.
using CollectiveForecasts = std::array<CollectiveForecast, 3>;

void add(CollectiveForecasts& sum, const CollectiveForecasts& more, int64_t times = 1);

/// Returns what each body of a plan sends.
std::array<CollectiveForecasts, kBodies> collectives_of(const Plan& plan);

/// Between disk and host memory, of one rank.
struct DiskForecast {
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
};

struct Forecast {
  std::array<std::array<int64_t, kUses>, kTiers> bytes{};  ///< peak of each use on its own
  std::array<int64_t, kTiers> arena_bytes{};
  std::array<CollectiveForecasts, kBodies> collectives{};
  std::array<DiskForecast, kBodies> disk{};
  std::array<double, kLanes> lane_seconds{};  ///< of one step
  double step_seconds = 0;
  double exposed_seconds = 0;  ///< compute waits for another lane
  double flops = 0;            ///< of one step on one rank, recompute included
};

Forecast forecast(const Plan& plan, const Machine& machine);

/// A forecast of all ops of one kind together, on the compute lane of a step.
struct KindForecast {
  double seconds = 0;
  int64_t calls = 0;
  int64_t draws = 0;         ///< random numbers
  int64_t exponentials = 0;  ///< as graph::Operation counts them
};

/// Returns it of each kind by its name, as run::Executor::profile() has it.
std::map<std::string, KindForecast, std::less<>> kinds_of(const Plan& plan, const Machine& machine);

}  // namespace zero::plan
