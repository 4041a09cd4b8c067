#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "src/machine/probes.hpp"
#include "zero/base/text.hpp"
#include "zero/io/aio/queue.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::machine {
namespace {

using tiers::DiskSetting;

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

/// Writes and syncs kProbeBytes to `fd`. Returns 0 or the errno of the failure.
int write_through(int fd) {
  const std::vector<char> block(size_t(1) << 20, 'z');
  for (int64_t done = 0; done < kProbeBytes;) {
    const ssize_t written = write(fd, block.data(), block.size());
    if (written <= 0) return errno;
    done += written;
  }
  return fsync(fd) == 0 ? 0 : errno;
}

/// Opens a file in `folder` that vanishes when it is closed.
int open_nameless(const std::string& folder) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  std::string path = folder + "/.zeroapp-probe-XXXXXX";
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

constexpr double kSeconds = 0.15;
constexpr int kRounds = 2;
/// Least gain worth leaving a default, because disk rates scatter.
constexpr double kWorthwhile = 1.05;

std::string gigabytes(double bytes_per_second) { return format("%.2f", bytes_per_second / 1e9); }

std::string setting_text(const DiskSetting& setting) {
  return text(setting.block_bytes >> 10, " KiB x ", setting.depth, " by ",
              setting.uring ? "io_uring" : text(setting.threads, " threads"));
}

std::string rates_text(const SettingTrial& trial) {
  return text("read ", gigabytes(trial.read), ", write ", gigabytes(trial.write), ", mixed ",
              gigabytes(trial.mixed), " GB/s");
}

/// Returns the best rates of some rounds over all settings, because a disk may be busy in any
/// round.
std::vector<SettingTrial> measure(tiers::DiskProbe& probe, bool has_ring) {
  std::vector<SettingTrial> trials;
  for (const DiskSetting& setting : disk_settings(has_ring)) trials.push_back({setting});
  const auto improve = [&](double& best, const SettingTrial& trial, aio::Pattern pattern) {
    best = std::max(best, probe.bytes_per_second(trial.setting, pattern, kSeconds));
  };
  for (int round = 0; round < kRounds; ++round) {
    for (SettingTrial& trial : trials) {
      improve(trial.read, trial, aio::Pattern::read);
      improve(trial.write, trial, aio::Pattern::write);
      improve(trial.mixed, trial, aio::Pattern::mixed);
    }
  }
  return trials;
}

Finding no_disk(const std::string& folder, const std::string& what) {
  return {.subject = "nvme",
          .verdict = Verdict::missing,
          .found = what,
          .advice = text("states cannot rest in ", folder, ": name another folder")};
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
  // Only the first rank of a node writes, because a node's ranks share a disk.
  if (session.leads_node()) findings.push_back(scratch_finding(scratch));
  return findings;
}

std::vector<DiskSetting> disk_settings(bool has_ring) {
  constexpr int64_t kKiB = 1024, kMiB = kKiB * kKiB;
  if (!has_ring) {
    return {{.block_bytes = kMiB, .depth = 8, .uring = false, .threads = 1},
            {.block_bytes = kMiB, .depth = 8, .uring = false, .threads = 4},
            {.block_bytes = 4 * kMiB, .depth = 8, .uring = false, .threads = 4}};
  }
  return {{.block_bytes = kMiB, .depth = 8},
          {.block_bytes = 256 * kKiB, .depth = 32},
          {.block_bytes = kMiB, .depth = 2},
          {.block_bytes = kMiB, .depth = 32},
          {.block_bytes = 4 * kMiB, .depth = 8},
          {.block_bytes = kMiB, .depth = 8, .uring = false, .threads = 4}};
}

const SettingTrial& best_trial(const std::vector<SettingTrial>& trials) {
  const SettingTrial* best = &trials.front();
  for (const SettingTrial& trial : trials) {
    // No key selects threads if io_uring works.
    const bool can_be_asked_for = trial.setting.uring == best->setting.uring;
    if (can_be_asked_for && trial.mixed > kWorthwhile * best->mixed) best = &trial;
  }
  return *best;
}

Finding nvme_choice(const std::string& folder, const SettingTrial& best) {
  // AdamW with split masters reads and writes 10 bytes a parameter.
  constexpr double kStateBytes = 20e9;
  std::string table = text("for the input file:\n[aio]\nblock_size = ", best.setting.block_bytes,
                           "\nqueue_depth = ", best.setting.depth);
  if (!best.setting.uring) table += text("\nintra_op_parallelism = ", best.setting.threads);
  return {
      .subject = "nvme choice",
      .found = text(folder, ": ", setting_text(best.setting), "; the optimizer state of 10^9 ",
                    "parameters passes in ", format("%.1f", kStateBytes / best.mixed), " s a step"),
      .advice = table};
}

Findings nvme_findings(const std::string& folder) {
  try {
    tiers::DiskProbe probe(folder);
    std::string why_not;
    const std::vector<SettingTrial> trials =
        measure(probe, aio::make_uring_engine({}, why_not) != nullptr);
    Findings findings;
    for (const SettingTrial& trial : trials) {
      findings.push_back(
          {.subject = "nvme", .found = setting_text(trial.setting) + ": " + rates_text(trial)});
    }
    findings.push_back(nvme_choice(folder, best_trial(trials)));
    if (!probe.direct()) {
      findings.back().verdict = Verdict::warning;
      findings.back().found += ", but through the page cache: it has no O_DIRECT, as in tmpfs";
    }
    findings.push_back(
        {.subject = "nvme wear",
         .found = bytes_text(double(probe.bytes_written())) + " written by this look"});
    return findings;
  } catch (const Error& error) {
    return {no_disk(folder, error.what())};
  }
}

}  // namespace zero::machine
