#pragma once
/// Checks of a rank's threads before libraries start them, because those libraries end the program
/// without a message if the system refuses.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace zero::launch {

/// Maximum threads of a rank, for which Kokkos keeps places.
inline constexpr int64_t kMostThreads = 512;

/// Advice for a refused thread, as the end of a sentence.
inline constexpr const char* kMoreThreads =
    " - raise this user's processes (ulimit -u), the data and address space (ulimit -d, -v; ulimit "
    "-s for each thread) or the cgroup's pids.max";

using Variable = std::function<const char*(const char*)>;

/// Returns the number of threads that OMP_NUM_THREADS asks for, the first of a list. `variable`
/// looks up the environment: getenv. 0 if it is not set. Throws Error(kUsage) unless it is 1 to
/// kMostThreads.
int64_t threads_asked(const Variable& variable);

/// Checks the variables of Kokkos in the environment, which `variable` looks up. Throws
/// Error(kUsage) naming one for whose value Kokkos would end the program, or that asks for other
/// than `threads` threads (run.threads or OMP_NUM_THREADS).
void require_kokkos_variables(const Variable& variable, int64_t threads);

/// Lets all threads take memory from one heap if address space is limited (ulimit -v), unless
/// MALLOC_ARENA_MAX is set. Otherwise glibc reserves 64 MiB of addresses for each thread that
/// allocates, and a library that is short of addresses later may end the program. REQUIRES: no
/// thread has started.
void spare_addresses();

/// Checks the stack limit of this process (ulimit -s). Throws Error(kDoesNotFit) if it is below
/// what any of the program's commands takes, because a signal would end a command midway.
void require_stack();

/// Tries out the threads and addresses that MPI takes as it starts. Throws Error(kDoesNotFit) if
/// the system refuses the threads, or the addresses of its libraries. Open MPI would then end the
/// program by a fault of its own.
void require_threads_of_mpi();

/// A trial of the threads that a run takes with teams of `threads`, alive as long as the object.
/// OpenMP's threads have stacks of OMP_STACKSIZE. Throws Error(kDoesNotFit) with the limits to
/// raise if the system refuses one, and ends the others. All ranks of a node try at one time,
/// because they share limits.
class ThreadTrial {
 public:
  /// Starts the threads of a rank whose teams have `threads` threads.
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
