#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {

/// The bytes of a rank that fit on disk, by whose folders they are striped over.
struct DiskRoom {
  static constexpr int64_t kUnknown = INT64_MAX;
  int64_t optimizer = kUnknown;   ///< zero.offload_optimizer.nvme_path
  int64_t parameters = kUnknown;  ///< zero.offload_param.nvme_path
  int64_t both = kUnknown;
  std::string source = {};
};

/// Device memory that communicators take beside a plan.
struct CommunicatorShare {
  int64_t bytes = 0;  ///< 0: none, or not known
  int64_t ranks = 1;  ///< of the run that they are for
  std::string source = {};
  /// What a run of other ranks would take; none where memory.device_limit is the plan's alone.
  plan::CommunicatorMemory others = {};
  int64_t gpus_per_node = 0;  ///< as in plan::Machine
};

/// The bytes that a rank may use, and where the number comes from.
struct MemoryLimit {
  int64_t bytes = 0;  ///< 0: no limit is known
  std::string source;
  bool of_host = false;    ///< what lies in host memory counts too
  int64_t host_bytes = 0;  ///< else of what lies there, where that has a limit of its own; 0: none
  std::string host_source = {};
  /// Where the limits above come from the configuration: what this process's own limits leave for
  /// both together; 0: no limit.
  int64_t process_bytes = 0;
  std::string process_source = {};
  DiskRoom disk = {};
  CommunicatorShare communicators = {};  ///< which `bytes` leaves room for, or was read beside
  /// The keys of the input file that say `bytes` and `host_bytes`; "" where none does.
  const char* key = "";
  const char* host_key = "";
};

/// Returns the bytes that a plan of `ranks` may have. `limit`.bytes is for a run that has
/// limit.communicators.
int64_t device_room(const MemoryLimit& limit, int64_t ranks);

/// memory.device_limit if it is given; else what a rank of the named machine has, less what its
/// context and libraries take and, of a run of several ranks, its communicators. For host memory
/// the limit is a rank's share of memory.host_limit, or else of the memory of a node of that
/// machine.
MemoryLimit machine_limit(const RunConfig& config, const plan::Machine& machine, int node_ranks = 1,
                          int64_t ranks = 1);

/// memory.device_limit if it is given, and memory.host_limit, divided by the ranks of the node, of
/// what lies in host memory. Else, since devices here have the host's memory, one limit of both:
/// memory.host_limit, this host's cgroup limit or its available memory, whichever is least, divided
/// likewise. Never more than process_limits() leave, of memory.device_limit and host memory
/// together, or of host memory where this build drives devices of their own memory.
MemoryLimit host_limit(const RunConfig& config, int node_ranks);

/// A rank's share of what is free where homes are nvme: of 15/16 of it where a home is "auto" and
/// may be kept there, since a disk holds checkpoints too. Throws Error(kUsage) naming the key of a
/// folder that does not exist where a home is "auto"; else what that folder has is unknown.
DiskRoom disk_room(const RunConfig& config, int node_ranks);

/// The limit of a rank that is about to train and has warmed its communicators up: with devices of
/// their own memory, what is free there, divided by `device_ranks` that drive one device, less what
/// libraries take; and host_limit() for what lies in host memory.
MemoryLimit rank_limit(const RunConfig& config, int node_ranks, int device_ranks);

/// What is free on a device, and what its contexts and other programs use already.
struct DeviceBytes {
  int64_t free = 0, used = 0;
};
/// The device's part of it, and the limit of the host. The source names the other use, so that a
/// refusal does.
MemoryLimit device_limit_from(const DeviceBytes& device, int device_ranks, const MemoryLimit& host);

/// A limit of this process alone, of which its ranks do not share.
struct ProcessLimit {
  int64_t most = -1;  ///< bytes; -1: none
  int64_t used = 0;
  std::string source = {};
};
/// The limits of address space and of data (ulimit -v, ulimit -d). Memory of a device is in
/// neither; what CUDA has reserved of address space is used up like any other.
std::vector<ProcessLimit> process_limits();
/// `limit`, or what is left of one of these where that is less: all but 256 MiB, or half where that
/// is more, for what a process takes beside its plan.
MemoryLimit within_process(MemoryLimit limit, const std::vector<ProcessLimit>& own);

/// `limit` of a device that has memory of its own: this process's limits are of host memory alone.
MemoryLimit apart_from_host(MemoryLimit limit);

/// Returns the host's share of the bytes available (-1: not known) and of the limit of a control
/// group (-1: none), of whichever is less.
MemoryLimit host_limit_from(int64_t available, int64_t group, int node_ranks);

}  // namespace zero::advise
