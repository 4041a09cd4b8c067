#include "zero/advise/placement.hpp"

#include "zero/advise/buffers.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/plan/staging.hpp"

namespace zero::advise {
namespace {

/// The largest share of at most `wanted` that fits; whether none does is not asked.
void take_share(const state::Team& team, const MemoryLimit& limit, Placement& placement) {
  while (placement.streamed_share > 0) {
    placement.build = state::build(placement.config, team, placement.streamed_share);
    if (fits(placement.build, limit)) return;
    placement.streamed_share -= 1.0 / plan::kStreamedParts;
  }
  placement.build = state::build(placement.config, team);
}

std::string sites_text(const plan::UpdateSites& sites) {
  if (sites.streamed == 0) return "";
  return text("updates of units whose states rest beside the device: ", sites.streamed,
              " on it, through which their states stream, ", sites.on_host, " on the host\n");
}

}  // namespace

Placement choose_placement(const RunConfig& config, const state::Team& team,
                           const MemoryLimit& limit, const plan::Machine& machine) {
  Placement placement;
  placement.homes = choose_homes(config, team, limit);
  placement.config = placement.homes.config;
  placement.config.offload_optimizer.buffer_count =
      choose_buffers(placement.homes.config, team, limit, machine);
  placement.streamed_share = state::streamed_share_for(placement.config, team, machine);
  take_share(team, limit, placement);
  return placement;
}

std::string placement_text(const RunConfig& asked, const Placement& placement) {
  return homes_text(asked, placement.homes) + buffers_text(asked, placement.config) +
         sites_text(plan::update_sites(placement.build.plan));
}

void note_placement(const Placement& placement, ConfigInput& input) {
  note_homes(placement.homes, input);
  note_buffers(placement.config, input);
}

}  // namespace zero::advise
