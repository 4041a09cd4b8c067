#pragma once
/// Host files only: a loop over independent items by a stream's threads.

#include <omp.h>

#include <atomic>
#include <cstdint>
#include <exception>

namespace zero::kernels {

/// Calls work(thread, item) for every item in [0, items), thread < threads. Thread t begins with
/// item t, so which threads take part does not change from call to call; the rest go to whichever
/// is free. One item is for the calling thread: waking others costs more. Finished on return; the
/// first exception of any thread is thrown again here.
template <class Work>
void on_threads(int threads, int64_t items, const Work& work) {
  std::atomic<int64_t> taken{0};
  std::exception_ptr first;
#pragma omp parallel num_threads(threads) if (threads > 1 && items > 1)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    for (int64_t item = thread; item < items; item = team + taken.fetch_add(1)) {
      try {
        work(thread, item);
      } catch (...) {
#pragma omp critical(zero_on_threads)
        if (!first) first = std::current_exception();
      }
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace zero::kernels
