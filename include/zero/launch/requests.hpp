#pragma once

#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace zero::launch {

/// What a user asks of a live run by making an empty file in its folder.
enum class Request { none, save, stop };

/// "checkpoint_now" or "stop_now"; "" for none.
std::string name_of(Request request);

/// Looks for such files and removes what it has seen: each asks once.
class Requests {
 public:
  using Clock = std::chrono::steady_clock;

  /// Nothing is ever asked.
  Requests() = default;
  explicit Requests(const std::string& folder);

  /// What is asked for; stop where both are. Looks at the folder twice a second at most, since it
  /// may be far away.
  Request take(Clock::time_point now);
  /// Removes what was asked of a launch that has ended, and names it.
  std::vector<std::string> forget() const;

 private:
  bool remove(Request request) const;

  /// By request; made here because take() runs in steps, which allocate nothing.
  std::array<std::string, 3> paths_;
  Clock::time_point looked_{};
};

}  // namespace zero::launch
