#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {

/// The room of a rank on disk, in bytes, by the states whose folders it is striped over.
struct DiskRoom {
  static constexpr int64_t kUnknown = INT64_MAX;
  int64_t optimizer = kUnknown;   ///< in zero.offload_optimizer.nvme_path
  int64_t parameters = kUnknown;  ///< in zero.offload_param.nvme_path
  int64_t both = kUnknown;
  std::string source = {};
};

/// The device memory of communicators, beside a plan.
struct CommunicatorShare {
  int64_t bytes = 0;  ///< 0: none or unknown
  int64_t ranks = 1;  ///< ranks of the run
  std::string source = {};
  /// For runs of other sizes; empty if memory.device_limit is for the plan alone.
  plan::CommunicatorMemory others = {};
  int64_t gpus_per_node = 0;  ///< see plan::Machine
};

/// The bytes that a rank may use, with their origin.
struct MemoryLimit {
  int64_t bytes = 0;  ///< 0: no known limit
  std::string source;
  bool of_host = false;    ///< true: host memory counts too
  int64_t host_bytes = 0;  ///< otherwise its separate limit; 0: none
  std::string host_source = {};
  /// If the limits above are configured: the rest of this process's own limits, for both together;
  /// 0: none.
  int64_t process_bytes = 0;
  std::string process_source = {};
  DiskRoom disk = {};
  CommunicatorShare communicators = {};  ///< outside `bytes`
  /// Keys of the input file that set `bytes` and `host_bytes`; "" if none.
  const char* key = "";
  const char* host_key = "";
};

/// Returns the device bytes that `limit` leaves to a plan for `ranks` ranks; 0: no known limit.
/// limit.bytes is for a run with limit.communicators, and other ranks may need other communicators.
int64_t device_room(const MemoryLimit& limit, int64_t ranks);

/// Returns the limit of a rank on `machine`, for a run of `ranks` ranks, `node_ranks` on a node.
/// Its bytes are memory.device_limit if set. Otherwise they are the device memory of the machine,
/// less context and libraries and, with several ranks, communicators. The host limit is a rank's
/// share of memory.host_limit, otherwise of the memory of a node.
MemoryLimit machine_limit(const RunConfig& config, const plan::Machine& machine, int node_ranks = 1,
                          int64_t ranks = 1);

/// Returns the limits of a rank of a run of `config` on this host, which `node_ranks` ranks share.
/// If memory.device_limit is set, `bytes` is that limit of the device, and `host_bytes` is
/// memory.host_limit divided by `node_ranks`. Otherwise `bytes` is one limit for both, because
/// devices share the host's memory. It is the least of memory.host_limit, the cgroup limit and
/// available memory, divided likewise. process_limits() bound both together, or host memory alone
/// if this build drives devices with their own memory.
MemoryLimit host_limit(const RunConfig& config, int node_ranks);

/// Returns a rank's share of the free bytes in the folders of config's nvme homes, which
/// `node_ranks` ranks share. If a home is "auto", it is 15/16 of them, because a disk holds
/// checkpoints too. Throws Error(kUsage) with the key of a missing folder if a home is "auto".
/// Otherwise a missing folder counts as unknown.
DiskRoom disk_room(const RunConfig& config, int node_ranks);

/// Returns the limit of this rank of a run of `config` before training: host_limit(), with
/// `node_ranks` ranks on the node. On devices with their own memory, device_limit_from() adds free
/// device memory, unless memory.device_limit is set. `device_ranks` ranks share the device.
/// REQUIRES: communicators are warmed up.
MemoryLimit rank_limit(const RunConfig& config, int node_ranks, int device_ranks);

/// The free bytes of a device, and those in use by its contexts and other programs.
struct DeviceBytes {
  int64_t free = 0, used = 0;
};
/// Returns the limit of each of `device_ranks` ranks that share a device. It is a share of the free
/// bytes, less libraries, with the host limit of `host`. The source names other use, for refusals.
MemoryLimit device_limit_from(const DeviceBytes& device, int device_ranks, const MemoryLimit& host);

/// A limit of this process alone, not shared by ranks.
struct ProcessLimit {
  int64_t most = -1;  ///< bytes; -1: no limit
  int64_t used = 0;
  std::string source = {};
};
/// Returns this process's limits of address space and data (ulimit -v, ulimit -d). Neither counts
/// device memory, but address space that CUDA reserves counts as used.
std::vector<ProcessLimit> process_limits();
/// Returns `limit`, or less if one of `own`, the process's own limits, leaves less. 256 MiB of an
/// own limit, or half of its rest if that is less, stay for the process beside its plan.
MemoryLimit within_process(MemoryLimit limit, const std::vector<ProcessLimit>& own);

/// Returns `limit` with the process's own limit moved to host memory, for a device with its own
/// memory.
MemoryLimit apart_from_host(MemoryLimit limit);

/// Returns the limit of each of `node_ranks` ranks of a host. It is a share of the lesser of
/// `available` bytes (-1: unknown) and the limit of a control group, `group` (-1: none).
MemoryLimit host_limit_from(int64_t available, int64_t group, int node_ranks);

}  // namespace zero::advise
