#pragma once

#include <signal.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace zero::launch {

/// A listener for signals that end a run early. SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 ask the run to
/// end at the next step boundary or, before the first step, at the next milestone. A second SIGINT
/// or SIGTERM ends this process at once by its default action. A repetition within 200 ms does not
/// count, because a launcher and a scheduler may both pass it on. SIGUSR1 and SIGUSR2 count as no
/// first or second one: batch systems send them ahead of SIGTERM, or twice. SIGCONT asks for
/// nothing: Open MPI's mpirun sends it ahead of the SIGTERM after Ctrl-C, and when a suspended job
/// goes on. Only one may exist at a time.
///
/// A thread of its own takes the signals. They are blocked in the constructing thread and in
/// threads that it starts later. A handler's frame lies below the stack pointer of the interrupted
/// thread, and oneDNN's products for AVX2 point that into their buffer on the heap.
///
/// Throws Error(kInternal) if the system forbids it, Error(kDoesNotFit) if it refuses the thread.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Returns the number of the signal that asks this process to end, or 0 if none has come.
  static int received();
  /// Returns the name of a signal by its number, "SIGTERM".
  static std::string name_of(int signal);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread listener_;
  sigset_t before_{};  ///< signals that the constructing thread had blocked
};

/// A request that a user makes to a live run by an empty file in its folder.
enum class UserRequest { none, save, stop };

/// Returns the name of the file of a request, "checkpoint_now" or "stop_now". "" for none.
std::string name_of(UserRequest request);

/// A reader of UserRequest files. It removes a file that it has seen, so each asks once.
class UserRequests {
 public:
  using Clock = std::chrono::steady_clock;

  /// Makes a reader that never finds a request.
  UserRequests() = default;
  /// Makes a reader of requests in the folder of a run.
  explicit UserRequests(const std::string& folder);

  /// Returns what a file in the folder requests: stop, save or none, stop if both are there. Looks
  /// at the folder at most twice a second, by the present time `now`, because it may be far away.
  UserRequest take(Clock::time_point now);
  /// Removes the files of requests from the folder that were made to an earlier launch, and returns
  /// their names.
  std::vector<std::string> forget() const;

 private:
  bool remove(UserRequest request) const;

  /// Paths by request, made here because take() runs in steps, which allocate nothing.
  std::array<std::string, 3> paths_;
  Clock::time_point looked_{};
};

/// A limit on the time of a run. It tells the run when to stop taking steps.
class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  /// Sets the latest end of the run, `seconds` after `start`. 0: no limit.
  TimeLimit(double seconds, Clock::time_point start);

  /// True if the step that begins `now` must be the last. REQUIRES: called as each step begins. At
  /// the end of the last step twice the longest step so far must remain, evaluations included.
  bool is_last_step(Clock::time_point now);

 private:
  double seconds_;
  Clock::time_point start_;
  Clock::time_point begun_{};  ///< start of the step before; its epoch: none
  Clock::duration longest_{};
};

/// The end of this process's Slurm job.
struct JobEnd {
  double seconds = 0;  ///< seconds after `asked`
  TimeLimit::Clock::time_point asked{};
  std::string source = {};  ///< "SLURM_JOB_END_TIME" or "squeue"
};

/// Returns the number of seconds in a text of squeue's TimeLeft, "[days-][hours:]minutes:seconds"
/// with hours if there are days. None for "UNLIMITED" and for text that is no time.
std::optional<int64_t> seconds_of_time_left(std::string_view words);

/// Returns the first line that a program prints. `command` has its name and its arguments. Finds it
/// in PATH and starts it without a shell. "" if it cannot be started or has printed no line after
/// `patience`. Kills the program at the end.
std::string first_line_of(const std::vector<std::string>& command,
                          std::chrono::milliseconds patience);

/// Returns the end of this process's Slurm job, by SLURM_JOB_END_TIME if that lies ahead, else by
/// squeue for SLURM_JOB_ID, within 2 s. None outside of a job, for a job without an end, and if
/// neither tells. `variable` looks up a variable of the environment by its name: getenv.
std::optional<JobEnd> job_end(const std::function<const char*(const char*)>& variable);

}  // namespace zero::launch
