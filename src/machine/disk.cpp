#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "src/machine/probes.hpp"
#include "zero/base/text.hpp"
#include "zero/io/aio/queue.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/files.hpp"

namespace zero::machine {
namespace {

constexpr int64_t kProbeBytes = int64_t(16) << 20;

int set_up_ring() {
  io_uring_params parameters{};
  const long made = syscall(__NR_io_uring_setup, 1, &parameters);
  if (made < 0) return errno;
  close(int(made));
  return 0;
}

Finding hdf5_finding() {
  return {.subject = "HDF5",
          .verdict = Verdict::good,
          .found = checkpoint::hdf5_version() + ", for checkpoints",
          .advice = ""};
}

Finding no_scratch(const std::string& folder, const char* what, int error) {
  return {.subject = "scratch",
          .verdict = Verdict::missing,
          .found = text(folder, ": ", what, ": ", std::strerror(error)),
          .advice = "start zeroapp in a folder that can be written, or write run.output",
          .stops = Exit::kIo};
}

/// Writes and syncs kProbeBytes to a file without a name; 0, or the errno of what failed.
int write_through(int fd) {
  const std::vector<char> block(size_t(1) << 20, 'z');
  for (int64_t done = 0; done < kProbeBytes;) {
    const ssize_t written = write(fd, block.data(), block.size());
    if (written <= 0) return errno;
    done += written;
  }
  return fsync(fd) == 0 ? 0 : errno;
}

/// A file in `folder` that vanishes when it is closed.
int open_nameless(const std::string& folder) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  std::string path = folder + "/.zeroapp-probe-XXXXXX";
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

}  // namespace

Finding ring_finding(int error, const std::string& why_not) {
  Finding finding{.subject = "io_uring", .found = "works: blocks on disk go by it"};
  if (error == 0 && why_not.empty()) return finding;
  finding.verdict = Verdict::warning;
  finding.advice =
      "training without tiers on disk wants none; such tiers take threads, and more "
      "of the processor";
  if (error == EPERM) {
    finding.found = "forbidden, as containers do, or by kernel.io_uring_disabled";
  } else if (error != 0) {
    finding.found = error == ENOSYS ? "the kernel, or what stands before it, has none"
                                    : text("not to be had: ", std::strerror(error));
  } else {
    finding.found = "the kernel allows it, but " + why_not;
  }
  return finding;
}

Finding scratch_finding(const std::string& folder) {
  const OpenFile file(open_nameless(folder));
  if (!file) return no_scratch(folder, "no file can be made", errno);
  struct statvfs status {};
  if (fstatvfs(file.descriptor(), &status) != 0) return no_scratch(folder, "free space", errno);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const int error = write_through(file.descriptor());
  if (error != 0) return no_scratch(folder, "writing 16 MiB and fsync", error);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double free_bytes = double(status.f_bavail) * double(status.f_frsize);
  Finding finding{
      .subject = "scratch",
      .found = text("written and synced in ", folder, ", ", bytes_text(free_bytes), " free"),
      .figure = double(kProbeBytes) / seconds / 1e6,
      .unit = "MB/s"};
  if (free_bytes < double(int64_t(1) << 30)) {
    finding.verdict = Verdict::warning;
    finding.advice = "less than 1 GiB: make room, or write run.output elsewhere";
  }
  return finding;
}

Findings disk_findings(const launch::Session& session, const std::string& scratch) {
  std::string why_not;
  aio::make_uring_engine({}, why_not);
  Findings findings = {ring_finding(set_up_ring(), why_not), hdf5_finding()};
  // Ranks of one node would write to one disk.
  if (session.leads_node()) findings.push_back(scratch_finding(scratch));
  return findings;
}

}  // namespace zero::machine
