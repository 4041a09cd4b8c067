#include <algorithm>

#include "src/compile/body_builder.hpp"
#include "src/compile/passes.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::plan {
namespace {

/// Returns the units that the host updates, in the order in which their gradients are complete.
std::vector<int32_t> updated_on_host(const Plan& plan) {
  std::vector<int32_t> units;
  for (int32_t u = 0; u < int32_t(plan.units.size()); ++u) {
    const Unit& unit = plan.units[size_t(u)];
    if (!unit.frozen && unit.optimizer_site() == Tier::host) units.push_back(u);
  }
  const UnitUses uses = find_uses(plan.graphs[0]);
  std::ranges::stable_sort(units, {}, [&](int32_t u) { return uses.last_gradient[size_t(u)]; });
  return units;
}

int32_t keep_on_host(Plan& plan, std::string name, int64_t bytes) {
  plan.buffers.push_back({.name = std::move(name),
                          .bytes = bytes,
                          .tier = Tier::host,
                          .use = Use::speculation,
                          .persistent = true});
  return int32_t(plan.buffers.size()) - 1;
}

void place_second(Plan& plan, Unit& unit) {
  const int64_t numel = unit.optimizer_sharded ? unit.shard_numel : unit.numel;
  unit.turns = keep_on_host(plan, unit.name + ".turns", sizeof(kernels::Speculation));
  unit.second = {keep_on_host(plan, unit.name + ".weight.second",
                              numel * int64_t(bytes_of(plan.request.compute)))};
  const std::vector<int32_t> updated = unit.updated();
  for (size_t i = 1; i < updated.size(); ++i) {
    if (updated[i] < 0) {
      unit.second.push_back(-1);
      continue;
    }
    const Buffer home = plan.buffers[size_t(updated[i])];
    const int32_t second = keep_on_host(plan, home.name + ".second", home.bytes);
    unit.second.push_back(second);
    for (const auto& [one, other] : {std::pair(updated[i], second), {second, updated[i]}}) {
      plan.buffers[size_t(one)].twin = other;
      plan.buffers[size_t(one)].turns = unit.turns;
    }
  }
}

}  // namespace

// Spreads speculated units evenly, because the host needs longer for a unit than backward. The host
// updates the others during forward, when earlier units are already settled.
void place_speculation(Plan& plan) {
  if (plan.request.speculated_share == 0) return;
  double seen = 0, left = 0;
  for (const int32_t u : updated_on_host(plan)) {
    Unit& unit = plan.units[size_t(u)];
    const double numel = double(unit.numel);
    seen += numel;
    if (left + numel <= (1 - plan.request.speculated_share) * seen) {
      left += numel;
    } else {
      place_second(plan, unit);
    }
  }
}

Operand Updater::settle(int32_t u) {
  const Unit& unit = writer_.unit(u);
  slack_.begin(writer_.size());
  run_with_second(u, Kind::settle);
  const Operand weight = weight_at_home(u, Mode::update);
  Operand to = weight;
  if (!to.sharded) to.mode = Mode::write;
  writer_.move(u, writer_.whole(unit.second[0], Mode::read), to);
  slack_.end(writer_.size());
  return weight;
}

void Updater::speculate(int32_t u) {
  if (!writer_.unit(u).is_speculated()) return;
  slack_.begin(writer_.size());
  run_with_second(u, Kind::speculate);
  slack_.end(writer_.size());
}

void Updater::run_with_second(int32_t u, Kind kind) {
  const Unit& unit = writer_.unit(u);
  const int32_t weight = writer_.bring(u, weight_at_home(u, Mode::read), Tier::host);
  std::vector<Operand> updated = {writer_.whole(weight, Mode::read)};
  const std::vector<int32_t> homes = unit.updated();
  for (size_t i = 1; i < homes.size(); ++i) {
    updated.push_back(writer_.whole(homes[i], Mode::update));
  }
  PlanOp op = optimizer_op(u, kind, host_state_, updated);
  op.operands.push_back(writer_.whole(unit.turns, Mode::update));
  for (const int32_t second : unit.second) {
    op.operands.push_back(writer_.whole(second, Mode::update));
  }
  writer_.emit(std::move(op));
}

}  // namespace zero::plan
