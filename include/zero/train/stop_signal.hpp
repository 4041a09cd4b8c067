#pragma once

#include <string>

namespace zero::train {

/// SIGINT, SIGTERM and SIGUSR1 ask the run to end at the next step boundary; the second one ends
/// this process at once, as if nobody had listened. Open MPI's mpirun answers Ctrl-C and SIGTERM
/// with SIGCONT to its ranks, SIGTERM after its kill delay and SIGKILL after another one: a SIGCONT
/// of the parent process counts as the SIGTERM to come, which leaves twice the time. Installed as
/// long as it lives, one at a time. Throws Error(kInternal) where the system does not let it.
class StopSignal {
 public:
  /// `parent_announces`: whether mpirun is the parent.
  explicit StopSignal(bool parent_announces);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// The signal that has come, or 0.
  static int received();
  /// "SIGTERM"
  static std::string name_of(int signal);
};

}  // namespace zero::train
