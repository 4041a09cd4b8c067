#include "src/machine/memory_rates.hpp"

#include <barrier>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace zero::machine {
namespace {

using Clock = std::chrono::steady_clock;

/// One thread's bytes a second; a, b and c follow each other.
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
