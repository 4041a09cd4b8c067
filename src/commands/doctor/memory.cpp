#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

#include "src/commands/doctor/probes.hpp"
#include "zero/device/arena.hpp"
#include "zero/train/memory_limit.hpp"

namespace zero::commands {
namespace {

using Clock = std::chrono::steady_clock;
using train::bytes_text;

constexpr int64_t kMiB = int64_t(1) << 20;

std::string file_text(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "madvise" of "always [madvise] never".
std::string chosen(const std::string& choices) {
  const size_t begin = choices.find('['), end = choices.find(']');
  if (begin == std::string::npos || end == std::string::npos) return "unknown";
  return choices.substr(begin + 1, end - begin - 1);
}

Finding limit_finding(const train::Session& session) {
  const int64_t whole = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  const train::MemoryLimit limit = train::host_limit({}, session.node_ranks());
  Finding finding{.subject = "memory",
                  .found = text(bytes_text(double(whole)), " in the node, a rank may take ",
                                // Whole GiB, since free bytes differ by moments and ranks.
                                limit.bytes >> 30, " GiB (", limit.source, ")")};
  if (limit.bytes < 1024 * kMiB) {
    finding.verdict = Verdict::warning;
    finding.advice = "less than 1 GiB: end other programs, or start fewer ranks on this node";
  }
  return finding;
}

/// a = b + 3 c, again and again, over arrays that no cache holds. Returns bytes a second that were
/// read and written; the source is STREAM's triad (McCalpin 1995).
class Triad {
 public:
  static constexpr int64_t kNumel = 2 * kMiB;  ///< of each array of a thread: 16 MiB
  static constexpr double kSeconds = 0.6;

  explicit Triad(int threads) : threads_(threads), arena_(3 * threads * kNumel * 8) {
    arena_.touch(threads);
  }

  double bytes_per_second() {
    std::vector<double> rates(size_t(threads_), 0);
    {
      std::barrier together(threads_);
      std::vector<std::jthread> team;
      for (int i = 0; i < threads_; ++i) {
        team.emplace_back([&, i] {
          together.arrive_and_wait();
          rates[size_t(i)] = run(reinterpret_cast<double*>(arena_.data()) + 3 * i * kNumel);
        });
      }
    }
    return std::accumulate(rates.begin(), rates.end(), 0.0);
  }

  int64_t huge_bytes() const { return arena_.huge_bytes(); }
  int64_t bytes() const { return arena_.bytes(); }

 private:
  static double run(double* a) {
    const double* b = a + kNumel;
    const double* c = b + kNumel;
    const Clock::time_point start = Clock::now();
    double seconds = 0;
    int64_t rounds = 0;
    for (; seconds < kSeconds; ++rounds) {
      for (int64_t i = 0; i < kNumel; ++i) a[i] = b[i] + 3 * c[i];
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return double(rounds * 3 * kNumel * 8) / seconds;
  }

  int threads_;
  Arena arena_;
};

Finding bandwidth_finding(Triad& triad, int threads) {
  return {.subject = "bandwidth",
          .found = text("triad, ", threads, threads == 1 ? " thread" : " threads"),
          .figure = triad.bytes_per_second() / 1e9,
          .unit = "GB/s"};
}

Finding locked_finding() {
  rlimit limit{};
  const bool known = getrlimit(RLIMIT_MEMLOCK, &limit) == 0;
  const bool endless = known && limit.rlim_cur == RLIM_INFINITY;
  Finding finding{.subject = "locked memory",
                  .found = endless ? "no limit"
                           : known ? bytes_text(double(limit.rlim_cur)) + " a process"
                                   : "the limit is not known"};
  if (known && !endless && int64_t(limit.rlim_cur) < 1024 * kMiB && geteuid() != 0) {
    finding.verdict = Verdict::warning;
    finding.advice =
        "training takes none; buffers that a disk or a network registers would want "
        "more: ulimit -l unlimited";
  }
  return finding;
}

}  // namespace

Finding huge_page_finding(const HugePages& pages) {
  const int64_t percent = pages.huge_bytes * 100 / std::max<int64_t>(1, pages.arena_bytes);
  Finding finding{.subject = "huge pages",
                  .found = text(percent, " % of an arena (enabled: ", chosen(pages.enabled),
                                ", defrag: ", chosen(pages.defrag), ")")};
  if (percent >= 90) return finding;
  finding.verdict = Verdict::warning;
  finding.advice =
      chosen(pages.enabled) == "never" || pages.enabled.empty()
          ? "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root, on "
            "the host): memory is then found faster"
          : "memory is in pieces: echo defer+madvise > "
            "/sys/kernel/mm/transparent_hugepage/defrag (as root), or restart the node";
  return finding;
}

Findings memory_findings(const train::Session& session) {
  Findings findings = {limit_finding(session), locked_finding()};
  try {
    Triad triad(session.threads());
    findings.push_back(bandwidth_finding(triad, session.threads()));
    findings.push_back(
        huge_page_finding({.enabled = file_text("/sys/kernel/mm/transparent_hugepage/enabled"),
                           .defrag = file_text("/sys/kernel/mm/transparent_hugepage/defrag"),
                           .arena_bytes = triad.bytes(),
                           .huge_bytes = triad.huge_bytes()}));
  } catch (const Error& error) {
    findings.push_back(
        {.subject = "bandwidth", .verdict = Verdict::warning, .found = error.what()});
  }
  return findings;
}

}  // namespace zero::commands
