#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "src/machine/probes.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/launch/cores.hpp"
#include "zero/launch/node_parts.hpp"
#include "zero/launch/process_environment.hpp"
#include "zero/train/banner.hpp"

namespace zero::machine {
namespace {

/// Returns the cores' worth of time that the control group allows; 0 = no limit.
double quota_of(const std::string& cpu_max) {
  double quota = 0, period = 0;
  if (std::sscanf(cpu_max.c_str(), "%lf %lf", &quota, &period) != 2 || period <= 0) return 0;
  return quota / period;
}

Finding quota_finding(int allowed) {
  const double quota = quota_of(first_line("/sys/fs/cgroup/cpu.max"));
  if (quota == 0 || quota >= allowed) {
    return {.subject = "core quota", .found = "none below the cores (cgroup cpu.max)"};
  }
  return {.subject = "core quota",
          .verdict = Verdict::warning,
          .found = text("the cgroup gives the time of ", quota, " cores for ", allowed),
          .advice = "start no more ranks x threads than that: set run.threads or OMP_NUM_THREADS"};
}

/// Returns a finding on all NUMA nodes and those with cores that this process may use.
Finding numa_finding() {
  const launch::NodeParts node;
  const size_t nodes = node.numa_nodes().size();
  const size_t used = node.numa_nodes_of(launch::allowed_cores().numbers).size();
  if (nodes == 0) return {.subject = "NUMA", .found = "the kernel names no NUMA nodes"};
  Finding finding{.subject = "NUMA",
                  .found = text("cores on ", used, " of ", counted(int64_t(nodes), "node"))};
  if (used > 1) {
    finding.verdict = Verdict::warning;
    finding.advice =
        "memory is then often far: one rank a node of memory, mpirun --map-by numa "
        "--bind-to numa";
  }
  return finding;
}

bool is_word(const char* value, std::initializer_list<const char*> words) {
  std::string lower = value;
  for (char& letter : lower) letter = char(std::tolower(letter));
  for (const char* word : words) {
    if (lower.starts_with(word)) return true;
  }
  return false;
}

}  // namespace

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Finding binding_finding(const Binding& binding) {
  const auto& [online, allowed, node_ranks, threads] = binding;
  Finding finding{
      .subject = "binding",
      .found = text(allowed, " of ", online, " cores for a rank, ", counted(node_ranks, "rank"),
                    " on the node, ", counted(threads, "thread"), " each")};
  if (node_ranks * threads > online) {
    finding.verdict = Verdict::warning;
    finding.advice = "more threads than cores: start fewer ranks, or set run.threads";
  } else if (threads > allowed) {
    finding.verdict = Verdict::warning;
    finding.advice = "more threads than the rank may use cores: mpirun --bind-to none, or fewer";
  } else if (node_ranks * allowed < online) {
    finding.verdict = Verdict::warning;
    finding.advice =
        "cores stay idle: mpirun binds each of one or two ranks to one core unless "
        "told --bind-to none; srun wants --cpus-per-task";
  }
  return finding;
}

Findings openmp_findings(const Variable& variable) {
  struct Harm {
    const char* name;
    std::initializer_list<const char*> values;
    const char* why;
    const char* harmless = "";
  };
  static const Harm harms[] = {
      {"OMP_WAIT_POLICY", {"active"}, "threads that spin take cores from other lanes and ranks"},
      {"OMP_PROC_BIND",
       {"true", "close", "spread", "master", "primary"},
       "the threads of all lanes are then bound to the same cores"},
      {"OMP_DYNAMIC", {"true"}, "the number of threads, and with it the plan, may change"},
      {"GOMP_SPINCOUNT",
       {""},
       "threads that spin take cores from other lanes and ranks",
       launch::kBriefSpin},
      {"DNNL_MAX_CPU_ISA", {""}, "products may then not use all that the processor can do"},
      {"ONEDNN_MAX_CPU_ISA", {""}, "products may then not use all that the processor can do"},
  };
  Findings findings;
  for (const Harm& harm : harms) {
    const char* value = variable(harm.name);
    if (!value || value == std::string(harm.harmless) || !is_word(value, harm.values)) continue;
    findings.push_back({.subject = "environment",
                        .verdict = Verdict::warning,
                        .found = text(harm.name, "=", value, ": ", harm.why),
                        .advice = text("unset ", harm.name)});
  }
  if (!findings.empty()) return findings;
  const char* threads = variable("OMP_NUM_THREADS");
  return {{.subject = "environment",
           .found = threads ? text("OMP_NUM_THREADS=", threads)
                            : "OMP_NUM_THREADS is not set: threads follow the cores"}};
}

Findings core_findings(const launch::Session& session) {
  const int allowed = launch::allowed_cores().count();
  const int online = int(sysconf(_SC_NPROCESSORS_ONLN));
  Findings findings = {{.subject = "processor", .found = train::processor_text()},
                       binding_finding({.online = online,
                                        .allowed = allowed,
                                        .node_ranks = session.node_ranks(),
                                        .threads = session.threads()}),
                       quota_finding(allowed),
                       numa_finding()};
  for (Finding& finding : openmp_findings([](const char* name) { return std::getenv(name); })) {
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace zero::machine
