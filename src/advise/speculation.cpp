#include "src/advise/speculation.hpp"

#include <optional>
#include <utility>

#include "src/advise/memory_needs.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {
namespace {

/// Largest step time, relative to one without second copies, that makes "auto" spend memory on
/// them.
constexpr double kWorthSpeculating = 0.95;

/// Takes as much of the wanted shares as fits. Device memory limits updates on the device, host
/// memory second copies. Returns false and leaves the placement unchanged if no speculation fits.
/// `wanted` becomes the least shares that were tried.
bool take_speculation(const setup::World& world, const MemoryLimit& limit,
                      plan::UpdateShares& wanted, Placement& placement) {
  for (plan::UpdateShares tried = wanted; tried.speculated > 0;) {
    setup::Build made = setup::build(placement.config, world, tried);
    if (plan::update_sites(made.plan).speculated == 0) return false;
    wanted = tried;
    if (fits(made, limit)) {
      placement.build = std::move(made);
      placement.shares = wanted;
      return true;
    }
    const bool too_many_there = tried.on_device > 0 && !fits(made, of_device(limit));
    (too_many_there ? tried.on_device : tried.speculated) -= 1.0 / plan::kDeviceUpdateParts;
  }
  return false;
}

bool pays(const setup::Build& with, const setup::Build& without, const plan::Machine& machine) {
  return plan::forecast(with.plan, machine).step_seconds <=
         kWorthSpeculating * plan::forecast(without.plan, machine).step_seconds;
}

/// Refuses speculate = true if the homes chosen for "auto" allow no speculation.
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

void choose_speculation(const setup::World& world, const MemoryLimit& limit,
                        const plan::Machine& machine, Placement& placement) {
  const std::optional<bool> asked = placement.config.offload_optimizer.speculate;
  // Host memory's rate decides if speculation pays, and published figures lack that rate.
  if (!asked.value_or(machine.has_memory && machine.host_is_measured)) return;
  plan::UpdateShares wanted = setup::speculated_shares_for(placement.config, world, machine);
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
         shortage_text(setup::build(placement.config, world, wanted), limit),
         ", as its second copies take host memory; write speculate = \"auto\", which takes what "
         "there is, or false");
}

}  // namespace zero::advise
