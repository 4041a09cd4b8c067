#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "zero/comm/communicator.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

/// The device memory of a rank's communicators, beside its plan.
struct CommunicatorMemory {
  int64_t measured = 0;    ///< bytes of all communicators, as measured; 0: sum of the members below
  int64_t ring_bytes = 0;  ///< bytes of connections that gather and add words
  int64_t peer_bytes = 0;  ///< bytes per peer in the node that exchanges shards
  int64_t own_bytes = 0;   ///< bytes of the program's buffer for arriving shards

  /// Returns the bytes that the communicators of a rank take in a run of `ranks` ranks, with
  /// `node_ranks` on a full node. 0 for a single rank, whose communicators take none.
  int64_t of(int64_t ranks, int64_t node_ranks) const;
};

/// The borders of nodes that each team crosses.
using Borders = std::array<comm::Border, kTeams>;

/// The rates and sizes of a machine, measured by `calibrate` or published for a card.
struct Machine {
  std::string name;
  int64_t device_bytes = 0;   ///< visible to a process
  int64_t context_bytes = 0;  ///< part of device_bytes for its context and libraries, outside plans
  CommunicatorMemory communicators = {};
  double product_flops = 1e11;  ///< per second, in the compute dtype
  /// Share of the product and memory rates that ops of a kind reach; 1 for kinds not listed.
  std::map<std::string, double, std::less<>> kind_shares = {};
  /// Seconds per exponential of a kind. Its products then have the share of "linear".
  std::map<std::string, double, std::less<>> exponential_seconds = {};
  /// Share of their rates that other lanes than compute reach; 1 for lanes not listed.
  std::map<Lane, double> lane_shares = {};
  double op_seconds = 0;           ///< overhead of an op on the compute lane
  double random_rate = 0;          ///< random numbers per second for dropout; 0: unknown
  bool has_memory = false;         ///< the device has memory of its own
  double memory_bandwidth = 2e10;  ///< bytes per second
  double link_bandwidth = 5e9;     ///< bytes per second that a rank sends within its node
  double link_latency = 2e-5;      ///< seconds per collective
  int64_t gpus_per_node = 0;       ///< 0: unknown, all ranks on one node
  int64_t host_bytes = 0;          ///< host memory of a node for a run; 0: unknown
  /// Bytes per second that all ranks of a node send to other nodes; 0: unknown.
  double node_link_bandwidth = 0;
  double host_bandwidth = 2e10;   ///< bytes per second of host memory, for the host optimizer
  bool host_is_measured = false;  ///< false: host_bandwidth is published or guessed
  double copy_bandwidth = 1e10;   ///< bytes per second between host and device, in one direction
  double disk_read_bandwidth = 1.5e9;
  double disk_write_bandwidth = 1.5e9;
  bool disk_is_measured = false;  ///< false: both are guessed
  /// Ranks on a full node of the forecast plan; 0: all ranks on one node.
  int64_t node_ranks = 0;
  /// Borders of the communicators of a run; none: as border_of() finds them.
  std::optional<Borders> borders = {};
};

/// Returns the number of nodes that `ranks` ranks take, with machine.node_ranks on a full one.
int64_t nodes_of(const Machine& machine, int64_t ranks);

/// Returns the default number of ranks on a full node for a run of `ranks` ranks: the fewest nodes
/// with enough GPUs, filled evenly. All ranks if the machine does not know its GPUs.
int64_t ranks_on_a_node(const Machine& machine, int64_t ranks);

/// Returns the border of nodes between `ranks` ranks on a machine: of the run's communicators, else
/// of NCCL with GPUs, else of hosts, in two levels if equally many ranks, a power of two, are on
/// each node.
comm::Border border_of(const Machine& machine, int64_t ranks);
/// Returns the machine as a team of `groups` sees it: its ranks on a node, its border, and its
/// share of a node's link while all teams of the kind send.
Machine seen_by(const Machine& machine, const Groups& groups, Team team);
/// Returns the borders of all teams.
Borders borders_of(const Machine& machine, const Groups& groups);

/// Returns the built-in profile of the machine `name`, with the rate of products in dtype
/// `compute`. Names are host, titan_rtx_24g, rtx_3090_24g, v100_32g, a100_40g, a100_80g, h100_80g,
/// h200_141g or b200_192g. Throws Error(kUsage), which lists them, for other names.
Machine machine_profile(const std::string& name, Dtype compute);

/// Returns the name of the built-in profile for a device by its driver's name, "NVIDIA H200";
/// "host" if none fits.
std::string profile_of(const std::string& device);

/// Returns the names of all built-in profiles except the host's, for people: "titan_rtx_24g,
/// rtx_3090_24g, ...".
std::string card_names();

struct CollectiveForecast {
  int64_t calls = 0;
  int64_t elements = 0;  ///< sent by a rank
  int64_t bytes = 0;
  int64_t node_bytes = 0;  ///< bytes that a rank sends to other nodes; of words the first rank
};

/// Forecasts of gather, reduce and all-reduce.
using CollectiveForecasts = std::array<CollectiveForecast, 3>;

/// Adds `more`, `times` times, to `sum`, collective by collective.
void add(CollectiveForecasts& sum, const CollectiveForecasts& more, int64_t times = 1);

/// Returns the traffic that a rank sends in each body of a plan, [kBodies], with nodes divided at
/// `borders`. On nodes with fewer ranks than a full one, more leaves the node where shards do not
/// cross once.
std::array<CollectiveForecasts, kBodies> collectives_of(const Plan& plan, const Borders& borders);

/// The traffic of a rank between disk and host memory.
struct DiskForecast {
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
};

struct Forecast {
  std::array<std::array<int64_t, kUses>, kTiers> bytes{};  ///< separate peak of each use
  std::array<int64_t, kTiers> arena_bytes{};
  std::array<CollectiveForecasts, kBodies> collectives{};
  std::array<DiskForecast, kBodies> disk{};
  std::array<double, kLanes> lane_seconds{};  ///< in a step
  double step_seconds = 0;
  double exposed_seconds = 0;  ///< compute waits for another lane
  double flops = 0;            ///< in a step on one rank, recompute included
};

/// Returns the memory, traffic and time of a plan on a rank of `machine`. Replays a step's lanes on
/// a clock.
Forecast forecast(const Plan& plan, const Machine& machine);

/// A forecast for all ops of one kind on a step's compute lane.
struct KindForecast {
  double seconds = 0;
  int64_t calls = 0;
  int64_t draws = 0;         ///< random numbers
  int64_t exponentials = 0;  ///< see graph::Operation
};

/// Returns a forecast of a step of a plan on `machine`: for each kind of op by its name, as
/// run::Executor::profile() names it.
std::map<std::string, KindForecast, std::less<>> kinds_of(const Plan& plan, const Machine& machine);

}  // namespace zero::plan
