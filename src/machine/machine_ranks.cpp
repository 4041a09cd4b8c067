#include <mpi.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/machine/probes.hpp"
#include "zero/base/text.hpp"
#include "zero/comm/backends.hpp"
#include "zero/launch/launch.hpp"
#include "zero/launch/process_environment.hpp"
#include "zero/train/banner.hpp"

namespace zero::machine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDelay = "OMPI_MCA_odls_base_sigkill_timeout";
/// Seconds for a step and a save of a small model. mpirun waits them twice, once before it tells
/// the ranks, wherever it ends them.
constexpr int kGoodDelay = 2;
/// Set for ranks by the mpirun of Open MPI 5, which knows no such delay.
constexpr const char* kLaunchedByPrrte = "PRTE_LAUNCHED";

Finding library_finding() {
  return {.subject = "MPI",
          .found = text(train::mpi_text(), ", MPI ", MPI_VERSION, ".", MPI_SUBVERSION)};
}

Finding launch_finding(const launch::Session& session) {
  return asked("launcher", [&]() -> std::string {
    session.require_all_tasks();
    if (launch::current_launch().tasks == 0) {
      return "none: one rank (mpirun -n 2 zeroapp doctor looks as two ranks would)";
    }
    const char* name = std::getenv("OMPI_COMM_WORLD_SIZE") ? "mpirun"
                       : std::getenv("SLURM_STEP_ID")      ? "srun"
                                                           : "a PMI launcher";
    return text(name, ": ", counted(session.ranks(), "rank"), ", ", session.node_ranks(),
                " on rank 0's node");
  });
}

Finding thread_finding(const launch::Session& session) {
  return asked("MPI threads", [&]() -> std::string {
    session.require_threads();
    return "MPI_THREAD_MULTIPLE";
  });
}

constexpr int64_t kMiB = int64_t(1) << 20;
/// Bytes that Open MPI keeps in /dev/shm for each rank (btl_vader_segment_size), with a margin.
constexpr int64_t kMpiBytes = 5 * kMiB;

int64_t free_shared_bytes() {
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0) return -1;
  return int64_t(status.f_bavail) * int64_t(status.f_frsize);
}

/// Tests memory files, which collectives of a node use. No mount limits them.
Finding memory_file_finding() {
  return asked(
      "memory files",
      [] {
        comm::require_memory_files(kMiB);
        return "memfd_create works: collectives of a node do not need /dev/shm";
      },
      "ranks of one node need them: allow memfd_create, or start one rank a node");
}

Finding peer_copy_finding() {
  if (launch::may_read_processes()) {
    return {.subject = "peer copies",
            .found =
                "process_vm_readv works: Open MPI copies once "
                "between ranks of a node"};
  }
  return {.subject = "peer copies",
          .verdict = Verdict::warning,
          .found =
              "process_vm_readv is forbidden: Open MPI copies twice between ranks of a node "
              "(zeroapp asks it to, else it would print a line for every message)",
          .advice = "in a container --cap-add SYS_PTRACE; only ranks that talk by MPI gain"};
}

std::vector<fs::directory_entry> entries_of(const std::string& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(*at);
  }
  return entries;
}

/// Returns the mappings of all processes that this user may look at, a line each.
std::string maps_of_processes() {
  std::string all;
  for (const fs::directory_entry& entry : entries_of("/proc")) {
    if (!std::isdigit(uint8_t(entry.path().filename().c_str()[0]))) continue;
    std::ifstream file(entry.path() / "maps");
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  return all;
}

}  // namespace

Finding kill_delay_finding(const Variable& variable) {
  const std::string subject = "MPI kill delay";
  if (!variable("OMPI_COMM_WORLD_SIZE")) {
    return {.subject = subject, .found = "not under Open MPI's mpirun: nothing is cut short"};
  }
  if (variable(kLaunchedByPrrte)) {
    return {.subject = subject,
            .verdict = Verdict::warning,
            .found =
                "mpirun of Open MPI 5 kills ranks 0.5 s after Ctrl-C or SIGTERM, 0.25 s after it "
                "has told them, and nothing changes that",
            .advice =
                "end a run by kill -USR1 of mpirun, or touch stop_now in its folder: both leave it "
                "the time to save"};
  }
  const char* value = variable(kDelay);
  const int seconds = value ? std::atoi(value) : 1;
  Finding finding{.subject = subject,
                  .found = text("mpirun kills ranks ", 2 * seconds, " s after Ctrl-C or SIGTERM, ",
                                seconds, " s after it has told them (odls_base_sigkill_timeout)")};
  if (seconds < kGoodDelay) {
    finding.verdict = Verdict::warning;
    finding.advice =
        text("export ", kDelay, "=", kGoodDelay, ", or mpirun --mca odls_base_sigkill_timeout ",
             kGoodDelay, ", or more: as long as a step, a checkpoint and the summary take");
  }
  return finding;
}

Findings placement_findings(const std::vector<launch::RankPlace>& places) {
  Findings findings;
  for (const launch::PlacementFault& fault : launch::placement_faults(places)) {
    findings.push_back({.subject = "placement",
                        .verdict = fault.is_refused ? Verdict::missing : Verdict::warning,
                        .found = fault.what,
                        .advice = fault.advice,
                        .stops = fault.is_refused ? Exit::kUsage : Exit::kFinished});
  }
  if (!findings.empty()) return findings;
  return {{.subject = "placement", .found = "no rank is in another's way, or far from its device"}};
}

Findings mpi_findings(launch::Session& session) {
  return {library_finding(), thread_finding(session), launch_finding(session),
          kill_delay_finding([](const char* name) { return std::getenv(name); })};
}

Leftovers leftovers_of_mpi(const std::string& folder) {
  const std::string maps = maps_of_processes();
  Leftovers left;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    const std::string name = entry.path().filename();
    const bool is_of_mpi = name.starts_with("vader_segment.") || name.starts_with("sm_segment.");
    struct stat status {};
    const bool is_known = lstat(entry.path().c_str(), &status) == 0;
    if (!is_of_mpi || !is_known || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) continue;
    if (maps.find(entry.path().string() + "\n") != maps.npos) continue;
    ++left.files;
    left.bytes += status.st_size;
    left.patterns.insert(entry.path().parent_path() / (name.substr(0, name.rfind('.')) + ".*"));
  }
  return left;
}

Finding shared_memory_finding(int64_t free_bytes, int node_ranks, const Leftovers& left) {
  const std::string subject = "/dev/shm";
  if (free_bytes < 0) {
    return {.subject = subject, .found = "none: Open MPI uses its session folder in /tmp"};
  }
  Finding finding{.subject = subject, .found = bytes_text(double(free_bytes)) + " free"};
  if (free_bytes < kMpiBytes * node_ranks) {
    finding.verdict = Verdict::warning;
    finding.advice = text("Open MPI wants about ", bytes_text(double(kMpiBytes * node_ranks)),
                          ": docker run --shm-size=1g, or mpirun --mca "
                          "btl_vader_backing_directory /tmp");
  }
  if (left.files > 0) {
    finding.verdict = Verdict::warning;
    finding.found += text(", ", bytes_text(double(left.bytes)), " taken by ",
                          counted(left.files, "file"), " of Open MPI's jobs that are gone");
    if (!finding.advice.empty()) finding.advice += "; ";
    finding.advice += "rm";
    for (const std::string& pattern : left.patterns) finding.advice += " " + pattern;
  }
  return finding;
}

Findings sharing_findings(const launch::Session& session) {
  return {shared_memory_finding(free_shared_bytes(), session.node_ranks(),
                                leftovers_of_mpi("/dev/shm")),
          memory_file_finding(), peer_copy_finding()};
}

}  // namespace zero::machine
