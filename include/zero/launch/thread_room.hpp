#pragma once
/// What is asked of the threads of a rank before the libraries that start them: those end a program
/// without a word of ours where they are refused.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace zero::launch {

/// The most threads of a rank: as many as Kokkos keeps places for.
inline constexpr int64_t kMostThreads = 512;

/// What to raise where the system refuses a thread, as the end of a sentence that says so.
inline constexpr const char* kMoreThreads =
    " - raise this user's processes (ulimit -u), the data and address space (ulimit -d, -v; ulimit "
    "-s for each thread) or the cgroup's pids.max";

using Variable = std::function<const char*(const char*)>;

/// The threads that OMP_NUM_THREADS asks for, of a list the first number; 0 where it is not set.
/// Throws Error(kUsage) unless it is 1 to kMostThreads.
int64_t threads_asked(const Variable& variable);

/// Throws Error(kUsage) naming a variable of Kokkos whose value it would end the program for, or
/// that asks for other than `threads` threads, which are run.threads or OMP_NUM_THREADS.
void require_kokkos_variables(const Variable& variable, int64_t threads);

/// Where address space is limited (ulimit -v), all threads take memory from one heap, unless the
/// environment says how many (MALLOC_ARENA_MAX). Else glibc reserves 64 MiB of addresses for each
/// thread, whenever it first allocates. A library that is short of addresses later may end the
/// program. To be called before the first thread starts.
void spare_addresses();

/// Throws Error(kDoesNotFit) where the stack is limited (ulimit -s) to less than a command takes,
/// which a signal would end in the middle of its work.
void require_stack();

/// Throws Error(kDoesNotFit) where the system refuses the few threads that MPI starts as it starts,
/// or the addresses of its libraries: Open MPI then ends the program by a fault of its own.
void require_threads_of_mpi();

/// As many threads as a run takes with teams of `threads`, with stacks of OMP_STACKSIZE where
/// OpenMP starts them, alive as long as this is. Where the system refuses one it throws
/// Error(kDoesNotFit) with the limits to raise, and none is left. The ranks of a node share limits,
/// so that all of them try at one time.
class ThreadTrial {
 public:
  explicit ThreadTrial(int64_t threads);
  ~ThreadTrial();
  ThreadTrial(const ThreadTrial&) = delete;
  ThreadTrial& operator=(const ThreadTrial&) = delete;

 private:
  void end();

  std::atomic<bool> ended_{false};
  std::vector<pthread_t> threads_;
};

}  // namespace zero::launch
