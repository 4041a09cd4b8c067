#pragma once
/// What `zeroapp doctor` looks at, a file a field. Each probe says what it finds on this rank;
/// those that decide from plain facts are functions of these, so that a test can name them.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/machine/report.hpp"
#include "zero/device/device.hpp"
#include "zero/io/tiers/disk_probe.hpp"
#include "zero/launch/session.hpp"

namespace zero::machine {

/// The first line of a small file of the kernel; "" of one that cannot be read.
std::string first_line(const std::string& path);

/// The environment: the value of a variable, or null.
using Variable = std::function<const char*(const char*)>;

// mpi.cpp
Findings mpi_findings(launch::Session& session);
/// How long Open MPI's mpirun waits between asking ranks to end and killing them.
Finding kill_delay_finding(const Variable& variable);

// cores.cpp
Findings core_findings(const launch::Session& session);
struct Binding {
  int online;      ///< cores of the node
  int allowed;     ///< cores that this rank may use
  int node_ranks;  ///< ranks on the node
  int threads;     ///< of each rank
};
Finding binding_finding(const Binding& binding);
/// Settings of OpenMP, and of libraries over it, that make a run slower.
Findings openmp_findings(const Variable& variable);

// device.cpp
/// None on a build that computes on the host.
Findings device_findings(launch::Session& session);
/// What a run without run.share_device would say of its devices; `devices` are those of this rank.
Finding device_finding(const NodeDevices& node, int node_rank,
                       const std::vector<DeviceInfo>& devices);

// arithmetic.cpp
/// Computes where training would.
Findings arithmetic_findings(const launch::Session& session);

// memory.cpp
Findings memory_findings(const launch::Session& session);
struct HugePages {
  std::string enabled;  ///< /sys/kernel/mm/transparent_hugepage/enabled: "always [madvise] never"
  std::string defrag;
  int64_t arena_bytes;  ///< of an arena that has been touched
  int64_t huge_bytes;   ///< of these in huge pages
};
Finding huge_page_finding(const HugePages& pages);

// sharing.cpp
Findings sharing_findings(const launch::Session& session);
/// A file system in memory at /dev/shm with these bytes free; -1: there is none.
Finding shared_memory_finding(int64_t free_bytes, int node_ranks);

// disk.cpp
Findings disk_findings(const launch::Session& session, const std::string& scratch);
/// What the system call that sets up a ring answered: 0, or its errno; and why the program would
/// not use one, "" if it would.
Finding ring_finding(int error, const std::string& why_not);
/// Whether files can be written and made durable in `folder`, how fast, and what is free there.
Finding scratch_finding(const std::string& folder);

// nvme.cpp
/// How fast the disk of `folder` is with a few settings of [aio], and which to write.
Findings nvme_findings(const std::string& folder);
/// What is tried, the defaults first.
std::vector<tiers::DiskSetting> disk_settings(bool has_ring);
struct SettingTrial {
  tiers::DiskSetting setting;
  double read = 0, write = 0, mixed = 0;  ///< bytes a second
};
/// By the mixed rate, as states are read and written at one time; the first unless another is
/// clearly better.
const SettingTrial& best_trial(const std::vector<SettingTrial>& trials);
Finding nvme_choice(const std::string& folder, const SettingTrial& best);

}  // namespace zero::machine
