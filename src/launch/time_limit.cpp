#include <algorithm>

#include "zero/launch/stop.hpp"

namespace zero::launch {

TimeLimit::TimeLimit(double seconds, Clock::time_point start) : seconds_(seconds), start_(start) {}

bool TimeLimit::is_last_step(Clock::time_point now) {
  if (begun_ != Clock::time_point{}) longest_ = std::max(longest_, now - begun_);
  begun_ = now;
  const std::chrono::duration<double> needed = now - start_ + 3 * longest_;
  return seconds_ > 0 && needed.count() >= seconds_;
}

}  // namespace zero::launch
