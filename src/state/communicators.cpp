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

run::LaneComms Communicators::lanes() const {
  run::LaneComms lanes{};
  const std::vector<run::LaneTeam> teams = run::lane_teams(groups);
  for (size_t i = 0; i < all.size(); ++i)
    lanes[size_t(teams[i].lane)].of[size_t(teams[i].team)] = all[i].get();
  return lanes;
}

plan::Borders Communicators::borders() const {
  plan::Borders borders{};
  const std::vector<run::LaneTeam> teams = run::lane_teams(groups);
  for (size_t i = 0; i < all.size(); ++i) borders[size_t(teams[i].team)] = all[i]->border();
  return borders;
}

void warm_up(const Communicators& comms) {
  const int64_t most = drives_devices() ? kMostGathered : 0;
  const std::vector<run::LaneTeam> teams = run::lane_teams(comms.groups);
  for (size_t i = 0; i < comms.all.size(); ++i) {
    comm::warm_up(*comms.all[i], verbs_of(teams[i].lane), most);
  }
}

Communicators ready_communicators(launch::Session& session, int group_ranks) {
  const int ranks = session.ranks();
  Communicators made{.all = {}, .groups = {ranks, group_ranks == 0 ? ranks : group_ranks}};
  session.end_all_on_error([&] {
    const int64_t before = used_device_bytes();
    const comm::Nodes nodes = comm::find_nodes();
    made.one_level = why_one_level(session, nodes);
    made.all = make_communicators(session, nodes, made.groups);
    // A single rank's verbs are copies within the host, which no plan for a device has.
    if (session.ranks() > 1) warm_up(made);
    made.device_bytes = std::max<int64_t>(0, used_device_bytes() - before);
  });
  return made;
}

}  // namespace zero::state
