// AdamW in bytes a second beside the machine's stream rate. Ends with status 1 if on one thread the
// share of the stream rate is below 0.85 (median) in bf16 or fp32.

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdio>

#include "perf/support/adam_jobs.hpp"

namespace zero::perf {
namespace {

constexpr int64_t kNumel = int64_t(16) << 20;
constexpr int kRounds = 15;
constexpr double kGoal = 0.85;

/// The median of the shares of the stream rate, each of two rates measured side by side.
template <class T, class G>
double compare(const char* name, int threads) {
  Stream stream(threads);
  adopt_threads(stream);
  Arrays for_streams(kNumel, threads), for_adam(kNumel, threads);
  std::vector<Job> jobs = stream_jobs(stream, for_streams);
  jobs.push_back(adam_job<T, G>(name, stream, for_adam));
  measure_in_turns(jobs, kRounds);
  const std::vector<double> shares = shares_of_best(jobs);
  std::printf("%d threads:", threads);
  for (const Job& job : jobs) std::printf("  %s %.1f", job.name, median(job.rates) * 1e-9);
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  std::printf(" GB/s (%.0f B an element);  share of the stream rate %.2f (%.2f to %.2f)\n",
              jobs.back().bytes / double(kNumel), median(shares), *least, *most);
  std::fflush(stdout);
  return median(shares);
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  std::printf("AdamW on %lld elements, medians of %d rounds\n", (long long)zero::perf::kNumel,
              zero::perf::kRounds);
  bool passed = true;
  for (int threads : {1, 2}) {
    const double half = zero::perf::compare<zero::bf16, zero::bf16>("adamw bf16", threads);
    zero::perf::compare<zero::bf16, float>("adamw bf16, fp32 sum", threads);
    const double single = zero::perf::compare<float, float>("adamw fp32", threads);
    if (threads == 1) passed = std::min(half, single) >= zero::perf::kGoal;
  }
  std::printf("one thread, at least %.2f of the stream rate: %s\n", zero::perf::kGoal,
              passed ? "passed" : "FAILED");
  return passed ? 0 : 1;
}
