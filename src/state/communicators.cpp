#include "zero/state/communicators.hpp"

#include <algorithm>
#include <iterator>

#include "zero/comm/warm_up.hpp"
#include "zero/device/device.hpp"
#include "zero/state/engine.hpp"

namespace zero::state {
namespace {

/// Large for a library that chooses among algorithms to gather, small beside a device's memory.
constexpr int64_t kMostGathered = int64_t(64) << 20;

comm::Verbs verbs_of(plan::Lane lane) {
  return {.gathers = lane == plan::Lane::gather,
          .reduces = lane == plan::Lane::reduce,
          .sums = lane == plan::Lane::small};
}

}  // namespace

run::LaneComms Communicators::lanes() const { return lane_comms(all); }

void warm_up(const std::vector<std::unique_ptr<comm::Communicator>>& all) {
  const int64_t most = drives_devices() ? kMostGathered : 0;
  for (size_t i = 0; i < all.size(); ++i) {
    comm::warm_up(*all[i], verbs_of(plan::kCollectiveLanes[i]), most);
  }
}

Communicators ready_communicators(launch::Session& session) {
  Communicators made;
  session.end_all_on_error([&] {
    const int64_t before = used_device_bytes();
    const comm::Nodes nodes = comm::find_nodes();
    made.one_level = why_one_level(session, nodes);
    made.all = make_communicators(session, nodes);
    // A single rank's verbs are copies within the host, which no plan for a device has.
    if (session.ranks() > 1) warm_up(made.all);
    made.device_bytes = std::max<int64_t>(0, used_device_bytes() - before);
  });
  return made;
}

}  // namespace zero::state
