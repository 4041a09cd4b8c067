#include "zero/launch/process_environment.hpp"

#include <mpi.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/launch/launch.hpp"

namespace zero::launch {
namespace {

/// Returns the seconds from the start of the machine to that of the process. Negative: unknown.
double started_at() {
  std::ifstream file("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  // The second field is the program's name in brackets and may hold anything.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return -1;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  long long ticks = -1;
  fields >> ticks;
  return fields ? double(ticks) / double(sysconf(_SC_CLK_TCK)) : -1;
}

/// True if mpirun, or Slurm with one of its interfaces for MPI, may have started this process.
bool may_have_launcher() {
  constexpr const char* kSigns[] = {"PMIX_NAMESPACE", "PMI_RANK", "SLURM_STEP_ID"};
  return std::any_of(std::begin(kSigns), std::end(kSigns), std::getenv);
}

/// Lets ranks of one node open no port, because Open MPI would listen for other nodes on every
/// address of the machine. Keeps a user's choice.
void keep_to_one_node() {
  const char* const messages = std::getenv("OMPI_MCA_pml");
  const bool chosen =
      std::getenv("OMPI_MCA_btl") || (messages && std::string_view(messages) != "ob1");
  if (chosen || (may_have_launcher() && !current_launch().one_node)) return;
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("OMPI_MCA_btl", "self,vader", 0);
}

/// Returns the folder of temporary files as Open MPI finds it.
const char* temporary_folder() {
  for (const char* name : {"TMPDIR", "TEMP", "TMP"}) {
    if (const char* folder = std::getenv(name)) return folder;
  }
  return "/tmp";
}

/// True for Open MPI 5 and later, which makes a folder for a process without a launcher.
bool mpi_makes_folder() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0, major = 0;
  MPI_Get_library_version(version, &length);
  return std::sscanf(version, "Open MPI v%d", &major) == 1 && major >= 5;
}

}  // namespace

std::chrono::steady_clock::time_point process_start() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  timespec since_boot{};
  const double started = started_at();
  if (started < 0 || clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0) return now;
  const std::chrono::duration<double> age(double(since_boot.tv_sec) +
                                          double(since_boot.tv_nsec) * 1e-9 - started);
  return now - std::chrono::duration_cast<Clock::duration>(age);
}

bool may_read_processes() {
  char from = 'z', to = 0;
  const iovec source{&from, 1}, target{&to, 1};
  return process_vm_readv(getpid(), &target, 1, &source, 1, 0) == 1;
}

void require_open_files() {
  // A set of data may lie in thousands of files, each open on all ranks; MPI opens some 20.
  constexpr rlim_t kWanted = 16384, kLeast = 24;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kWanted) return;
  rlimit raised = limit;
  raised.rlim_cur = std::min(kWanted, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  if (limit.rlim_cur >= kLeast) return;
  refuse(Exit::kIo, "this process may have ", limit.rlim_max, " files open at one time, of which ",
         "a rank wants at least ", kLeast, " - raise the limit: ulimit -n 1024");
}

void require_folder_of_mpi() {
  const std::string folder = temporary_folder();
  const bool is_fit = access((folder + "/.").c_str(), W_OK | X_OK) == 0;
  if (is_fit || may_have_launcher() || !mpi_makes_folder()) return;
  refuse(Exit::kIo, "Open MPI 5 makes a folder among temporary files, and ", folder,
         " is no folder in which this user may write - name another in TMPDIR");
}

void prepare_environment(char** argv) {
  keep_to_one_node();
  if (!may_read_processes()) {
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);  // Open MPI 4
    setenv("OMPI_MCA_smsc", "^cma", 0);                             // Open MPI 5
  }
  // Keeps a process without a launcher from starting a daemon of Open MPI and waiting for it.
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  // Without a launcher no folder of Open MPI in /tmp is needed either. All such processes of a user
  // share one, and one in a hundred fails to start while another removes it.
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
  // On failure the program goes on, only slower.
  execv(path, argv);
}

}  // namespace zero::launch
