#include <sys/statvfs.h>

#include "src/machine/probes.hpp"
#include "zero/base/text.hpp"
#include "zero/comm/backends.hpp"

namespace zero::machine {
namespace {

constexpr int64_t kMiB = int64_t(1) << 20;
/// What Open MPI keeps there for each rank (btl_vader_segment_size), with something to spare.
constexpr int64_t kMpiBytes = 5 * kMiB;

int64_t free_shared_bytes() {
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0) return -1;
  return int64_t(status.f_bavail) * int64_t(status.f_frsize);
}

/// Collectives of a node go through such files, which no mount limits.
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

}  // namespace

Finding shared_memory_finding(int64_t free_bytes, int node_ranks) {
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
  return finding;
}

Findings sharing_findings(const launch::Session& session) {
  return {shared_memory_finding(free_shared_bytes(), session.node_ranks()), memory_file_finding(),
          peer_copy_finding()};
}

}  // namespace zero::machine
