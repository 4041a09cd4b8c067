#include "src/advise/speculation.hpp"

#include <optional>
#include <utility>

#include "src/advise/room.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {
namespace {

/// By forecast a step with second copies must be so much shorter that "auto" takes memory for them.
constexpr double kWorthSpeculating = 0.95;

/// Takes as much of what the forecast wants as fits: device memory decides on updates there, host
/// memory on second copies. Returns false, and leaves the placement as it is, if no speculation
/// fits.
bool take_speculation(const state::World& world, const MemoryLimit& limit,
                      plan::UpdateShares wanted, Placement& placement) {
  while (wanted.speculated > 0) {
    state::Build made = state::build(placement.config, world, wanted);
    if (plan::update_sites(made.plan).speculated == 0) return false;
    if (fits(made, limit)) {
      placement.build = std::move(made);
      placement.shares = wanted;
      return true;
    }
    const bool too_many_there = wanted.on_device > 0 && !fits(made, of_device(limit));
    (too_many_there ? wanted.on_device : wanted.speculated) -= 1.0 / plan::kDeviceUpdateParts;
  }
  return false;
}

bool pays(const state::Build& with, const state::Build& without, const plan::Machine& machine) {
  return plan::forecast(with.plan, machine).step_seconds <=
         kWorthSpeculating * plan::forecast(without.plan, machine).step_seconds;
}

/// Refuses speculate = true if homes that are "auto" were chosen such that nothing can speculate.
void require_nothing_to_speculate(const RunConfig& config) {
  const OffloadOptimizerConfig& optimizer = config.offload_optimizer;
  if (!optimizer.speculate.value_or(false) || optimizer.device == Home::none) return;
  refuse_settings({"zero.offload_optimizer.speculate", "zero.offload_optimizer.device",
                   "zero.offload_param.device"},
                  "updates begin before the norm is known where states rest in host memory and "
                  "weights on the device; write device = \"cpu\" and zero.offload_param.device = "
                  "\"none\", or speculate = \"auto\"");
}

}  // namespace

void choose_speculation(const state::World& world, const MemoryLimit& limit,
                        const plan::Machine& machine, Placement& placement) {
  const std::optional<bool> asked = placement.config.offload_optimizer.speculate;
  // The rate of host memory decides if it pays, and published figures do not know that rate.
  if (!asked.value_or(machine.has_memory && machine.host_is_measured)) return;
  const plan::UpdateShares wanted = state::speculated_shares_for(placement.config, world, machine);
  if (wanted.speculated == 0) return require_nothing_to_speculate(placement.config);
  if (!asked) {
    Placement tried = placement;
    const bool fit =
        take_speculation(world, limit_of_largest(placement.config, limit), wanted, tried);
    if (fit && pays(tried.build, placement.build, machine)) placement = std::move(tried);
    return;
  }
  if (take_speculation(world, limit, wanted, placement) || !fits(placement.build, limit)) return;
  refuse(Exit::kDoesNotFit, "zero.offload_optimizer.speculate = true needs ",
         shortage_text(state::build(placement.config, world, wanted), limit),
         ", as its second copies take host memory; write speculate = \"auto\", which takes what "
         "there is, or false");
}

}  // namespace zero::advise
