#pragma once

#include <chrono>

namespace zero::launch {

/// When a run must stop taking steps to be over before its time limit.
class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  /// Everything is to be over `seconds` after `start`; 0: no limit.
  TimeLimit(double seconds, Clock::time_point start);

  /// Told as each step begins: whether it must be the last one. Behind its end twice the longest
  /// step so far is to be left, evaluations between steps included.
  bool is_last_step(Clock::time_point now);

 private:
  double seconds_;
  Clock::time_point start_;
  Clock::time_point begun_{};  ///< the step before; its epoch: there was none
  Clock::duration longest_{};
};

}  // namespace zero::launch
