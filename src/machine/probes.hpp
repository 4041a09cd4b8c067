#pragma once
/// The probes of `zeroapp doctor`, a file a field, and the joining of all ranks' findings. Each
/// probe reports on this rank. Decisions from plain facts are functions of their own, so that tests
/// can call them.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/device.hpp"
#include "zero/io/tiers/disk_probe.hpp"
#include "zero/launch/rank_places.hpp"
#include "zero/launch/session.hpp"

namespace zero::machine {

enum class Verdict { good, warning, missing };
const char* name_of(Verdict verdict);

/// The result of one probe on one rank.
struct Finding {
  std::string subject;  ///< "huge pages": equal on every rank
  Verdict verdict = Verdict::good;
  std::string found;        ///< in words and numbers
  std::string advice = "";  ///< advice; "" = nothing to do
  /// A measured number, which differs by rank and is summed over ranks; 0 = none.
  double figure = 0;
  std::string unit = "";
  /// The exit status of training because of it; kFinished = training goes on.
  Exit stops = Exit::kFinished;
};

using Findings = std::vector<Finding>;

/// Returns the finding of a run's rule: its words if it passes. If it throws, returns what it
/// refuses, `advice` or else its words after " - ", and the status that training would end with.
Finding asked(const std::string& subject, const std::function<std::string()>& rule,
              const std::string& advice = "");

/// Returns the first line of a small file of the kernel; "" if unreadable.
std::string first_line(const std::string& path);

/// A function that returns the value of an environment variable, or null.
using Variable = std::function<const char*(const char*)>;

// measurements.cpp
/// The place of a rank among nodes.
struct NodePosition {
  int nodes = 1;
  int node_ranks = 1;  ///< ranks of each node; 0 = unequal numbers
  int node = 0;        ///< index of the node, by lowest rank
  int on_node = 0;     ///< index of the rank on its node
};

/// Returns the place of `rank`, given the host of every rank.
NodePosition position_of(const std::vector<std::string>& hosts, int rank);

// ranks.cpp
Findings mpi_findings(launch::Session& session);
/// Returns a finding on the seconds between Open MPI's mpirun asking ranks to end and killing them.
Finding kill_delay_finding(const Variable& variable);

Findings sharing_findings(const launch::Session& session);
/// The files of Open MPI in a folder that no process of this user has mapped, left by killed jobs.
struct Leftovers {
  int64_t files = 0, bytes = 0;
  std::set<std::string> patterns = {};  ///< each matches all files of a job
};
Leftovers leftovers_of_mpi(const std::string& folder);
/// Returns a finding on the file system in memory at /dev/shm with these bytes free; -1 = none.
Finding shared_memory_finding(int64_t free_bytes, int node_ranks, const Leftovers& left = {});

/// Returns the faults of these places of all ranks, or a finding that there are none.
Findings placement_findings(const std::vector<launch::RankPlace>& places);

// cores.cpp
Findings core_findings(const launch::Session& session);
struct Binding {
  int online;      ///< cores of the node
  int allowed;     ///< cores that this rank may use
  int node_ranks;  ///< ranks on the node
  int threads;     ///< threads per rank
};
Finding binding_finding(const Binding& binding);
/// Returns findings on settings of OpenMP, and of libraries over it, that slow a run down.
Findings openmp_findings(const Variable& variable);

// compute.cpp
/// Returns none on a host build.
Findings device_findings(launch::Session& session);
/// Returns a finding on the devices as a run without run.share_device takes them. `devices` are
/// this rank's.
Finding device_finding(const NodeDevices& node, int node_rank,
                       const std::vector<DeviceInfo>& devices);

/// Returns findings on libraries and product peaks, measured where training would compute.
Findings arithmetic_findings(const launch::Session& session);

// memory.cpp
Findings memory_findings(const launch::Session& session);
struct HugePages {
  std::string enabled;  ///< /sys/kernel/mm/transparent_hugepage/enabled: "always [madvise] never"
  std::string defrag;
  int64_t arena_bytes;  ///< bytes of a touched arena
  int64_t huge_bytes;   ///< bytes of it in huge pages
};
Finding huge_page_finding(const HugePages& pages);

/// A measurement of the memory rate of a rank's threads together, over arrays that no cache holds.
class MemoryRates {
 public:
  static constexpr int64_t kNumel = int64_t(2)
                                    << 20;  ///< doubles of each array of a thread: 16 MiB

  /// Allocates three such arrays for each thread. Throws Error(kDoesNotFit) without room.
  explicit MemoryRates(int threads);

  /// Returns the bytes a second read and written by a = b + 3 c, repeated for `seconds`. Does not
  /// count the line that a store first reads. Source: STREAM's triad (McCalpin 1995).
  double triad(double seconds);

  /// Returns the measured memory.
  const Arena& arena() const { return arena_; }

 private:
  int threads_;
  Arena arena_;
};

// disk.cpp
Findings disk_findings(const launch::Session& session, const std::string& scratch);
/// Returns a finding on io_uring. `error` is 0 or the errno of setting up a ring, `why_not` the
/// program's reason to use none, or "".
Finding ring_finding(int error, const std::string& why_not);
/// Returns a finding on `folder`: durable writes, their speed, and free space.
Finding scratch_finding(const std::string& folder);

/// Returns findings on the disk of `folder` under a few settings of [aio], and on the best of them.
Findings nvme_findings(const std::string& folder);
/// Returns the settings to try, the defaults first.
std::vector<tiers::DiskSetting> disk_settings(bool has_ring);
struct SettingTrial {
  tiers::DiskSetting setting;
  double read = 0, write = 0, mixed = 0;  ///< bytes a second
};
/// Returns the trial with the best mixed rate, because states are read and written at one time.
/// Returns the first unless another is clearly better.
const SettingTrial& best_trial(const std::vector<SettingTrial>& trials);
Finding nvme_choice(const std::string& folder, const SettingTrial& best);

// report.cpp
/// Packs one rank's findings as text for rank 0; unpack_findings() restores them.
std::string pack_findings(const Findings& findings);
Findings unpack_findings(const std::string& text);

/// A finding, and the ranks that share it. Figures become the least and most of a rank and the sum
/// of all.
struct Line {
  Finding finding;
  std::vector<int> ranks;
};

/// Joins each rank's findings to lines, which name the ranks that have them. Subjects stand in the
/// order of first appearance, rank 0's verdict first.
std::vector<Line> join_findings(const std::vector<Findings>& ranks);

/// Returns a line for each finding, its advice below, and at the end the numbers of good, warnings
/// and missing.
std::string doctor_table(const std::vector<Line>& lines, int ranks);
/// Returns the findings as one JSON object.
std::string doctor_json(const std::vector<Line>& lines, int ranks);

/// Returns the status of the first finding that stops training; kFinished without any.
Exit status_of(const std::vector<Line>& lines);

}  // namespace zero::machine
