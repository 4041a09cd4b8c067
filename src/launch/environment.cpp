#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "zero/base/error.hpp"
#include "zero/launch/session.hpp"

namespace zero::launch {

bool may_read_processes() {
  char from = 'z', to = 0;
  const iovec source{&from, 1}, target{&to, 1};
  return process_vm_readv(getpid(), &target, 1, &source, 1, 0) == 1;
}

void require_open_files() {
  constexpr rlim_t kWanted = 1024, kLeast = 24;  // most of them MPI's
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kLeast) return;
  limit.rlim_cur = std::min(kWanted, limit.rlim_max);
  const bool raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
  if (raised && limit.rlim_cur >= kLeast) return;
  refuse(Exit::kIo, "this process may have ", limit.rlim_max, " files open at one time, of which ",
         "a rank wants at least ", kLeast, " - raise the limit: ulimit -n ", kWanted);
}

namespace {

/// True if mpirun, or Slurm with one of its interfaces for MPI, may have started this process.
bool may_have_launcher() {
  constexpr const char* kSigns[] = {"PMIX_NAMESPACE", "PMI_RANK", "SLURM_STEP_ID"};
  return std::any_of(std::begin(kSigns), std::end(kSigns), std::getenv);
}

}  // namespace

void prepare_environment(char** argv) {
  if (!may_read_processes()) setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  // A process without a launcher would else start a daemon of Open MPI's first, and wait for it.
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  // Nor does it need Open MPI's folder in /tmp. All such processes of a user share one, and one in
  // a hundred fails to start where another just removes it.
  if (!may_have_launcher()) setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
  struct Setting {
    const char *name, *value;
  };
  constexpr Setting kSettings[] = {
      {"OMP_WAIT_POLICY", "passive"}, {"OMP_PROC_BIND", "false"}, {"GOMP_SPINCOUNT", kBriefSpin}};
  bool ready = true;
  for (const Setting& setting : kSettings) {
    ready = ready && std::getenv(setting.name) != nullptr;
    setenv(setting.name, setting.value, 0);
  }
  if (ready) return;
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0) return;
  path[length] = '\0';
  // On success this does not return; on failure the program goes on, only slower.
  execv(path, argv);
}

}  // namespace zero::launch
