#pragma once

#include <cstdint>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Which update of a state some bytes are of.
struct Version {
  int32_t state = -1;  ///< the buffer where it rests; -1: bytes that are not followed
  int32_t number = 0;  ///< updates in this body
  bool operator==(const Version&) const = default;
};

/// Follows weights and states of the optimizer through a body, wherever they are copied to: every
/// op that writes them makes a new version. So an update that does not come home, a copy from
/// before an update, and a copy of something else are all told from what should be there.
class Versions {
 public:
  explicit Versions(const Plan& plan) : plan_(plan), newest_(plan.buffers.size(), kIgnored) {
    for (const Unit& unit : plan.units) {
      for (int32_t state : unit.updated()) follow(state);
    }
    for (const Buffer& buffer : plan.buffers) follow(buffer.copy_of);
  }

  bool follows(int32_t buffer) const { return newest_[size_t(buffer)] != kIgnored; }
  /// What a persistent buffer must hold whenever no body runs.
  Version latest(int32_t buffer) const {
    const int32_t copied = plan_.buffers[size_t(buffer)].copy_of;
    const int32_t state = copied < 0 ? buffer : copied;
    return follows(state) ? Version{state, newest_[size_t(state)]} : Version{};
  }
  bool is_latest(const Version& version) const {
    return version.state < 0 || version.number == newest_[size_t(version.state)];
  }
  /// The version that writing a state makes; none for -1.
  Version next(int32_t state) {
    return state < 0 ? Version{} : Version{state, ++newest_[size_t(state)]};
  }

 private:
  static constexpr int32_t kIgnored = -1;
  void follow(int32_t buffer) {
    if (buffer >= 0) newest_[size_t(buffer)] = 0;
  }

  const Plan& plan_;
  std::vector<int32_t> newest_;  ///< [buffers]
};

}  // namespace zero::plan
