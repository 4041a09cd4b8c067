#pragma once
/// What `zeroapp doctor` looks at, a file a field, and what becomes of all ranks' findings. Each
/// probe says what it finds on this rank; those that decide from plain facts are functions of
/// these, so that a test can name them.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/device.hpp"
#include "zero/io/tiers/disk_probe.hpp"
#include "zero/launch/session.hpp"

namespace zero::machine {

enum class Verdict { good, warning, missing };
const char* name_of(Verdict verdict);

/// What one probe has found out on one rank.
struct Finding {
  std::string subject;  ///< "huge pages": the same on every rank
  Verdict verdict = Verdict::good;
  std::string found;        ///< in words and numbers
  std::string advice = "";  ///< what to do; "" where nothing is to be done
  /// A measured number, which differs from rank to rank and is summed up over them; 0: none.
  double figure = 0;
  std::string unit = "";
  /// The status that training ends with because of it; kFinished: it goes on.
  Exit stops = Exit::kFinished;
};

using Findings = std::vector<Finding>;

/// What a rule of a run finds: its words where it passes; else what it refuses, `advice` or its
/// own, which it writes after " - ", and the status that training would end with.
Finding asked(const std::string& subject, const std::function<std::string()>& rule,
              const std::string& advice = "");

/// The first line of a small file of the kernel; "" of one that cannot be read.
std::string first_line(const std::string& path);

/// The environment: the value of a variable, or null.
using Variable = std::function<const char*(const char*)>;

// measurements.cpp
/// Where a rank is among nodes.
struct NodePosition {
  int nodes = 1;
  int node_ranks = 1;  ///< of each node; 0: they have different numbers
  int node = 0;        ///< nodes are numbered in the order of their lowest ranks
  int on_node = 0;     ///< its number there, in the order of ranks
};

/// From the host of every rank.
NodePosition position_of(const std::vector<std::string>& hosts, int rank);

// ranks.cpp
Findings mpi_findings(launch::Session& session);
/// How long Open MPI's mpirun waits between asking ranks to end and killing them.
Finding kill_delay_finding(const Variable& variable);

Findings sharing_findings(const launch::Session& session);
/// Files of Open MPI's in a folder that no process of this user has mapped: what killed jobs left.
struct Leftovers {
  int64_t files = 0, bytes = 0;
  std::set<std::string> patterns = {};  ///< all files of one job each
};
Leftovers leftovers_of_mpi(const std::string& folder);
/// A file system in memory at /dev/shm with these bytes free; -1: there is none.
Finding shared_memory_finding(int64_t free_bytes, int node_ranks, const Leftovers& left = {});

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

// compute.cpp
/// None on a build that computes on the host.
Findings device_findings(launch::Session& session);
/// What a run without run.share_device would say of its devices; `devices` are those of this rank.
Finding device_finding(const NodeDevices& node, int node_rank,
                       const std::vector<DeviceInfo>& devices);

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

/// How fast the threads of a rank reach memory together, over arrays that no cache holds.
class MemoryRates {
 public:
  static constexpr int64_t kNumel = int64_t(2)
                                    << 20;  ///< doubles of each array of a thread: 16 MiB

  /// Throws Error(kDoesNotFit) where three such arrays for each thread are not to be had.
  explicit MemoryRates(int threads);

  /// Bytes a second that are read and written by a = b + 3 c, done again and again for `seconds`;
  /// the line that a store first reads is not counted. Source: STREAM's triad (McCalpin 1995).
  double triad(double seconds);

  /// The memory that it was measured on.
  const Arena& arena() const { return arena_; }

 private:
  int threads_;
  Arena arena_;
};

// disk.cpp
Findings disk_findings(const launch::Session& session, const std::string& scratch);
/// What the system call that sets up a ring answered: 0, or its errno; and why the program would
/// not use one, "" if it would.
Finding ring_finding(int error, const std::string& why_not);
/// Whether files can be written and made durable in `folder`, how fast, and what is free there.
Finding scratch_finding(const std::string& folder);

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

// report.cpp
/// The findings of one rank as text for rank 0, and back.
std::string pack_findings(const Findings& findings);
Findings unpack_findings(const std::string& text);

/// What ranks have found about one subject, as one or more lines: ranks that found the same share
/// one. Figures become the least and most of a rank and the sum of all.
struct Line {
  Finding finding;
  std::vector<int> ranks;
};

/// `ranks` holds each rank's findings; a subject that only some have is theirs alone. In the order
/// in which subjects first appear, the verdict of rank 0 first.
std::vector<Line> join_findings(const std::vector<Findings>& ranks);

/// One line a finding, its advice below, and at the end how many are good, warnings and missing.
std::string doctor_table(const std::vector<Line>& lines, int ranks);
/// The same as one JSON object.
std::string doctor_json(const std::vector<Line>& lines, int ranks);

/// The status of the first finding that stops training; kFinished without any.
Exit status_of(const std::vector<Line>& lines);

}  // namespace zero::machine
