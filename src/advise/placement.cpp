#include "zero/advise/placement.hpp"

#include "src/advise/buffers.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/compile/compile.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {
namespace {

/// The largest share of at most `wanted` that fits; whether none does is not asked.
void take_share(const state::World& world, const MemoryLimit& limit, Placement& placement) {
  while (placement.device_update_share > 0) {
    placement.build = state::build(placement.config, world, placement.device_update_share);
    if (fits(placement.build, limit)) return;
    placement.device_update_share -= 1.0 / plan::kDeviceUpdateParts;
  }
  placement.build = state::build(placement.config, world);
}

std::string sites_text(const plan::UpdateSites& sites) {
  if (sites.on_device == 0) return "";
  return text("updates of units whose states rest beside the device: ", sites.on_device,
              " on it, through which their states stream, ", sites.on_host, " on the host\n");
}

}  // namespace

Placement choose_placement(const RunConfig& config, const state::World& world,
                           const MemoryLimit& limit, const plan::Machine& machine) {
  Placement placement;
  const HomeChoice homes = choose_homes(config, world, limit);
  placement.config = homes.config;
  placement.config.offload_optimizer.buffer_count =
      choose_buffers(homes.config, world, limit, machine);
  placement.device_update_share = state::device_update_share_for(placement.config, world, machine);
  take_share(world, limit, placement);
  placement.choices = home_choices(config, homes);
  for (const Choice& buffers : buffer_choices(config, placement.config)) {
    placement.choices.push_back(buffers);
  }
  return placement;
}

std::string Placement::text() const {
  return choices_text(choices) + sites_text(plan::update_sites(build.plan));
}

std::string choices_text(const Choices& choices) {
  std::string out;
  for (size_t i = 0; i < choices.size(); ++i) {
    const Choice& choice = choices[i];
    out += zero::text(choice.key, " = \"", choice.asked, "\" is ", choice.chosen, choice.why, "\n");
    if (i + 1 < choices.size() && choices[i + 1].refused == choice.refused) continue;
    for (const std::string& refused : choice.refused) out += "  does not fit: " + refused + "\n";
  }
  return out;
}

void note_choices(const Choices& choices, ConfigInput& input) {
  for (const Choice& choice : choices) {
    std::string& origin = input.origins.at(choice.key);
    const bool is_replaced = choice.asked != "auto";
    origin += zero::text("; chosen", is_replaced ? " for \"" + choice.asked + "\"" : "", ": ",
                         choice.chosen);
    if (!choice.refused.empty()) origin += ", since " + choice.refused.back();
  }
}

std::vector<std::string> plan_warnings(const ConfigInput& input, const plan::Plan& plan) {
  const char* const key = "zero.stage3_param_persistence_threshold";
  const auto written = input.written.find(key);
  const std::string idle = state::idle_threshold(input.config, plan);
  if (written == input.written.end() || idle.empty()) return {};
  return {zero::text(written->second.place, ": ", key, ": ", idle)};
}

}  // namespace zero::advise
