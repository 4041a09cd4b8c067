#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "src/machine/probes.hpp"
#include "zero/advise/memory_limit.hpp"
#include "zero/base/text.hpp"

namespace zero::machine {
namespace {

constexpr int64_t kMiB = int64_t(1) << 20;
constexpr double kSeconds = 0.6;  // duration of the triad

/// Returns "madvise" for "always [madvise] never".
std::string chosen(const std::string& choices) {
  const size_t begin = choices.find('['), end = choices.find(']');
  if (begin == std::string::npos || end == std::string::npos) return "unknown";
  return choices.substr(begin + 1, end - begin - 1);
}

Finding limit_finding(const launch::Session& session) {
  const int64_t whole = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  const advise::MemoryLimit limit = advise::host_limit({}, session.node_ranks());
  Finding finding{.subject = "memory",
                  .found = text(bytes_text(double(whole)), " in the node, a rank may take ",
                                // Whole GiB, because free bytes differ by moment and rank.
                                limit.bytes >> 30, " GiB (", limit.source, ")")};
  if (limit.bytes < 1024 * kMiB) {
    finding.verdict = Verdict::warning;
    finding.advice = "less than 1 GiB: end other programs, or start fewer ranks on this node";
  }
  return finding;
}

Finding bandwidth_finding(MemoryRates& rates, int threads) {
  return {.subject = "bandwidth",
          .found = text("triad, ", counted(threads, "thread")),
          .figure = rates.triad(kSeconds) / 1e9,
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

Findings memory_findings(const launch::Session& session) {
  Findings findings = {limit_finding(session), locked_finding()};
  try {
    MemoryRates rates(session.threads());
    findings.push_back(bandwidth_finding(rates, session.threads()));
    findings.push_back(
        huge_page_finding({.enabled = first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
                           .defrag = first_line("/sys/kernel/mm/transparent_hugepage/defrag"),
                           .arena_bytes = rates.arena().bytes(),
                           .huge_bytes = rates.arena().huge_bytes()}));
  } catch (const Error& error) {
    findings.push_back(
        {.subject = "bandwidth", .verdict = Verdict::warning, .found = error.what()});
  }
  return findings;
}

namespace {

using Clock = std::chrono::steady_clock;

/// Returns one thread's bytes a second. `a`, b and c follow each other.
double triad_of_thread(double* a, double least_seconds) {
  const double* b = a + MemoryRates::kNumel;
  const double* c = b + MemoryRates::kNumel;
  const Clock::time_point start = Clock::now();
  double seconds = 0;
  int64_t rounds = 0;
  for (; seconds < least_seconds; ++rounds) {
    for (int64_t i = 0; i < MemoryRates::kNumel; ++i) a[i] = b[i] + 3 * c[i];
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return double(rounds * 3 * MemoryRates::kNumel * int64_t(sizeof(double))) / seconds;
}

}  // namespace

MemoryRates::MemoryRates(int threads)
    : threads_(threads), arena_(3 * threads * kNumel * int64_t(sizeof(double))) {
  arena_.touch(threads);
}

double MemoryRates::triad(double seconds) {
  std::vector<double> rates(size_t(threads_), 0);
  {
    std::barrier together(threads_);
    std::vector<std::jthread> world;
    for (int i = 0; i < threads_; ++i) {
      world.emplace_back([&, i] {
        together.arrive_and_wait();
        double* const arrays = reinterpret_cast<double*>(arena_.data()) + 3 * i * kNumel;
        rates[size_t(i)] = triad_of_thread(arrays, seconds);
      });
    }
  }
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace zero::machine
