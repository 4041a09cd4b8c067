#pragma once
/// Host files only: a loop over independent items by a stream's threads.

#include <omp.h>

#include <cstdint>
#include <exception>

namespace zero::kernels {

/// Calls work(thread, item) for every item in [0, items), thread < threads; items go to whichever
/// thread is free. Finished on return; the first exception of any thread is thrown again here.
template <class Work>
void on_threads(int threads, int64_t items, const Work& work) {
  std::exception_ptr first;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (int64_t item = 0; item < items; ++item) {
    try {
      work(omp_get_thread_num(), item);
    } catch (...) {
#pragma omp critical(zero_on_threads)
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace zero::kernels
