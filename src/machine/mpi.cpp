#include <mpi.h>

#include <cstdlib>

#include "src/machine/probes.hpp"
#include "zero/base/text.hpp"
#include "zero/train/banner.hpp"

namespace zero::machine {
namespace {

constexpr const char* kDelay = "OMPI_MCA_odls_base_sigkill_timeout";
/// Long enough for a step and a save of a small model. mpirun lets it pass twice, once before it
/// tells the ranks, and does so wherever it ends them.
constexpr int kGoodDelay = 2;

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

}  // namespace

Finding kill_delay_finding(const Variable& variable) {
  const std::string subject = "MPI kill delay";
  if (!variable("OMPI_COMM_WORLD_SIZE")) {
    return {.subject = subject, .found = "not under Open MPI's mpirun: nothing is cut short"};
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

Findings mpi_findings(launch::Session& session) {
  return {library_finding(), thread_finding(session), launch_finding(session),
          kill_delay_finding([](const char* name) { return std::getenv(name); })};
}

}  // namespace zero::machine
