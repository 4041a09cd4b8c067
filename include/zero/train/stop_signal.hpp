#pragma once

#include <string>

namespace zero::train {

/// SIGINT, SIGTERM and SIGUSR1 ask the run to end at the next step boundary; the second one ends
/// this process at once, as if nobody had listened. Installed as long as it lives, one at a time.
/// Throws Error(kInternal) where the system does not let it.
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

}  // namespace zero::train
