#include <utility>

#include "src/run/rank_buffers.hpp"
#include "zero/base/error.hpp"

namespace zero::run {
namespace {

/// Nobody needs to reach the memory of a rank that is alone.
bool has_peers(const comm::Communicator* comm) { return comm != nullptr && comm->ranks() > 1; }

Arena take_device_arena(int64_t bytes, const LaneComms& comms) {
  for (const comm::Communicator* const comm : comms) {
    if (has_peers(comm)) return comm->take_arena(bytes);
  }
  return Arena(bytes, Place::device);
}

}  // namespace

Place host_place(const plan::Plan& plan) {
  return plan.request.pinned_host ? Place::pinned : Place::host;
}

/// None for the disk, whose bytes lie in files.
TierArenas::TierArenas(const plan::Plan& plan, const LaneComms& comms, Arena device)
    : comms_(comms) {
  const int threads = plan.request.threads;
  const bool is_given = device.bytes() > 0;
  ZERO_REQUIRE(!is_given || device.bytes() >= plan.arena_bytes[size_t(plan::Tier::device)],
               device.bytes(), " bytes are given for a plan of more");
  if (is_given) arenas_[size_t(plan::Tier::device)] = std::move(device);
  for (size_t tier = 0; tier < arenas_.size(); ++tier) {
    const int64_t bytes = plan.arena_bytes[tier];
    if (bytes == 0 || plan::Tier(tier) == plan::Tier::nvme) continue;
    if (plan::Tier(tier) == plan::Tier::device && is_given) continue;
    arenas_[tier] = plan::Tier(tier) == plan::Tier::device
                        ? take_device_arena(bytes, comms)
                        : Arena(bytes, host_place(plan), threads);
    arenas_[tier].touch(threads);
  }
}

void TierArenas::open_windows() {
  const Arena& device = of(plan::Tier::device);
  if (device.bytes() == 0) return;
  for (comm::Communicator* const comm : comms_) {
    if (has_peers(comm)) windows_.push_back(comm->open_window(device));
  }
}

}  // namespace zero::run
