#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "zero/plan/plan.hpp"

namespace zero::state {

/// What a lane of this rank has done in all bodies so far.
struct LaneUse {
  double busy_seconds = 0;    ///< of a lane that ranks meet on also while it waits for a peer
  double waited_seconds = 0;  ///< for other lanes; of compute also for their ends
  int64_t bytes = 0;          ///< copied, read, written, or sent to other ranks

  /// Bytes a second of busy time; 0 of a lane that moves none.
  double rate() const { return busy_seconds > 0 ? double(bytes) / busy_seconds : 0; }
};
using LaneUses = std::array<LaneUse, plan::kLanes>;

/// Bytes that each lane of a body copies between device and host.
std::array<int64_t, plan::kLanes> copied_bytes(const plan::Body& body);

/// For people: a line for each lane that has moved bytes, and of compute how long it waited; ""
/// where none has.
std::string lane_table(const LaneUses& lanes);

}  // namespace zero::state
