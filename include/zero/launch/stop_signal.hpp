#pragma once

#include <string>

namespace zero::launch {

/// SIGINT, SIGTERM and SIGUSR1 ask the run to end at the next step boundary, or, before the first
/// step, between two stages of its start. A second one ends this process at once, as if nobody had
/// listened, unless it is the same one within 200 ms: a launcher and a scheduler may both pass one
/// on. SIGCONT asks for nothing: Open MPI's mpirun sends one ahead of the SIGTERM after Ctrl-C, and
/// one where a job that was suspended goes on. Installed as long as it lives, one at a time. Throws
/// Error(kInternal) where the system does not let it.
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
};

}  // namespace zero::launch
