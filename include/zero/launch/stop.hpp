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

/// SIGINT, SIGTERM and SIGUSR1 ask the run to end at the next step boundary, or, before the first
/// step, at the next milestone of the start. A second one ends this process at once, as if nobody
/// had listened, unless it is the same one within 200 ms: a launcher and a scheduler may both pass
/// one on. SIGCONT asks for nothing: Open MPI's mpirun sends one ahead of the SIGTERM after Ctrl-C,
/// and one where a job that was suspended goes on. Installed as long as it lives, one at a time.
///
/// One thread of its own takes them: they are blocked in the thread that makes this and so in those
/// that are started later. A handler's frame lies below the stack pointer of the thread that it
/// interrupts, and oneDNN's products for AVX2 point that into their buffer on the heap meanwhile.
///
/// Throws Error(kInternal) where the system does not let it, Error(kDoesNotFit) where it refuses
/// the thread.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// The signal that has come, or 0.
  static int received();
  /// "SIGTERM"
  static std::string name_of(int signal);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread listener_;
  sigset_t before_{};  ///< what the thread that made this had blocked
};

/// What a user asks of a live run by making an empty file in its folder.
enum class UserRequest { none, save, stop };

/// "checkpoint_now" or "stop_now"; "" for none.
std::string name_of(UserRequest request);

/// Looks for such files and removes what it has seen: each asks once.
class UserRequests {
 public:
  using Clock = std::chrono::steady_clock;

  /// Nothing is ever asked.
  UserRequests() = default;
  explicit UserRequests(const std::string& folder);

  /// What is asked for; stop where both are. Looks at the folder twice a second at most, since it
  /// may be far away.
  UserRequest take(Clock::time_point now);
  /// Removes what was asked of a launch that has ended, and names it.
  std::vector<std::string> forget() const;

 private:
  bool remove(UserRequest request) const;

  /// By request; made here because take() runs in steps, which allocate nothing.
  std::array<std::string, 3> paths_;
  Clock::time_point looked_{};
};

/// When a run must stop taking steps to be over before its time limit.
class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  /// Everything is to be over `seconds` after `start`; 0: no limit.
  TimeLimit(double seconds, Clock::time_point start);

  /// Told as each step begins: whether it must be the last one. At the end of the last step twice
  /// the longest step so far must remain, evaluations included.
  bool is_last_step(Clock::time_point now);

 private:
  double seconds_;
  Clock::time_point start_;
  Clock::time_point begun_{};  ///< the step before; its epoch: there was none
  Clock::duration longest_{};
};

/// When Slurm ends the job that this process belongs to.
struct JobEnd {
  double seconds = 0;  ///< after `asked`
  TimeLimit::Clock::time_point asked{};
  std::string source = {};  ///< who told: "SLURM_JOB_END_TIME", "squeue"
};

/// As squeue's TimeLeft has it, "[days-][hours:]minutes:seconds" with hours where there are days.
/// Returns none for "UNLIMITED" and for text that is no time.
std::optional<int64_t> seconds_of_time_left(std::string_view words);

/// The first line that a program prints, found in PATH and started without a shell; "" where it
/// cannot be started or has printed none after `patience`, when it is killed.
std::string first_line_of(const std::vector<std::string>& command,
                          std::chrono::milliseconds patience);

/// From SLURM_JOB_END_TIME where that is to come, else of SLURM_JOB_ID from squeue, which has 2 s.
/// None outside of a job, of one without an end, and where nobody tells. `variable` is getenv.
std::optional<JobEnd> job_end(const std::function<const char*(const char*)>& variable);

}  // namespace zero::launch
