// The optimizer of a host lane: AdamW with a bf16 gradient in, a bf16 weight out and a split
// master, 26 bytes a parameter; one line of JSON with its speed and its share of the stream rate.
// perf/io/host_adam.py compares it with a peer.
//   perf_io_host_adam PARAMETERS THREADS

#include <Kokkos_Core.hpp>
#include <cstdio>
#include <cstdlib>

#include "perf/support/adam_jobs.hpp"

namespace zero::perf {
namespace {

constexpr int kRounds = 9;

void measure(int64_t numel, int threads) {
  Stream stream(threads), host(threads, Place::host);
  adopt_threads(stream);
  Arrays for_streams(numel, threads), for_adam(numel, threads);
  std::vector<Job> jobs = stream_jobs(stream, for_streams);
  jobs.push_back(adam_job<bf16, bf16>("adamw", host, for_adam));
  measure_in_turns(jobs, kRounds);
  const double rate = median(jobs.back().rates);
  const double share = median(shares_of_best(jobs));
  const double parameters = rate * double(numel) / jobs.back().bytes;
  std::printf("{\"parameters_per_s\": %.0f, \"bytes_per_s\": %.0f, \"share_of_stream\": %.4f}\n",
              parameters, rate, share);
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: perf_io_host_adam PARAMETERS THREADS\n"), 2;
  const int threads = std::atoi(argv[2]);
  const Kokkos::ScopeGuard kokkos(
      Kokkos::InitializationSettings().set_num_threads(threads).set_disable_warnings(true));
  zero::perf::measure(std::atoll(argv[1]), threads);
  return 0;
}
