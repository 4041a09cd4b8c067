#include "src/plan/updater.hpp"

#include <algorithm>

#include "zero/kernels/optimizer.hpp"

namespace zero::plan {
namespace {

bool runs_on_host(const Unit& unit) { return unit.optimizer_site() == Tier::host; }

bool is_moved(const Unit& unit) {
  return unit.optimizer_home != Tier::device || unit.weight_home != Tier::device;
}

}  // namespace

Updater::Updater(BodyWriter& writer) : writer_(writer), slack_(writer.request().staged_units - 1) {}

void Updater::decide() {
  Plan& plan = writer_.plan();
  const auto whole = [&](int32_t buffer, Mode mode) { return writer_.whole(buffer, mode); };
  writer_.emit(
      {.kind = Kind::decide,
       .operands = {whole(plan.step_inputs, Mode::read), whole(plan.step_sums, Mode::update),
                    whole(plan.step_state, Mode::update)}});
  if (std::none_of(plan.units.begin(), plan.units.end(), runs_on_host)) return;
  host_state_ = writer_.bring(-1, whole(plan.step_state, Mode::read), Tier::host);
}

void Updater::update(int32_t u) {
  const Unit& unit = writer_.unit(u);
  const int64_t numel = unit.optimizer_sharded ? unit.shard_numel : unit.numel;
  const int64_t weight_bytes = numel * int64_t(bytes_of(writer_.request().compute));
  const bool moves = is_moved(unit);
  if (moves) slack_.begin(writer_.size());
  const std::array<Staged, 4> staged = {
      stage(u, writer_.owned(unit.weight, weight_bytes, Mode::update)),
      stage(u, writer_.whole(unit.rest, Mode::update)),
      stage(u, writer_.whole(unit.momentum, Mode::update)),
      stage(u, writer_.whole(unit.variance, Mode::update))};
  run(u, {staged[0].here, staged[1].here, staged[2].here, staged[3].here});
  for (const Staged& state : staged) send_home(u, state);
  if (moves) slack_.end(writer_.size());
  if (unit.optimizer_sharded && !unit.weight_sharded) gather(u);
}

Updater::Staged Updater::stage(int32_t u, const Operand& home) {
  const Tier site = writer_.unit(u).optimizer_site();
  if (home.buffer < 0 || writer_.tier_of(home) == site) return {home, home};
  return {home, writer_.whole(writer_.bring(u, home, site), Mode::update)};
}

void Updater::send_home(int32_t u, const Staged& staged) {
  if (!staged.is_away()) return;
  Operand to = staged.home;
  to.mode = to.sharded ? Mode::update : Mode::write;
  writer_.move(u, staged.here, to);
}

void Updater::run(int32_t u, const std::array<Operand, 4>& states) {
  const Unit& unit = writer_.unit(u);
  const Request& request = writer_.request();
  const RestingGradient gradient = resting_gradient(request, unit.optimizer_site());
  const bool host = runs_on_host(unit);
  const int32_t state = host ? host_state_ : writer_.plan().step_state;
  const int64_t numel = unit.optimizer_sharded ? unit.shard_numel : unit.numel;
  const int64_t gradient_bytes = numel * int64_t(bytes_of(gradient.element));
  const PlanOp adam{
      .kind = Kind::adam,
      .lane = host ? Lane::host_optimizer : Lane::compute,
      .unit = u,
      .in = gradient.element,
      .out = request.compute,
      .round = gradient.round,
      .operands = {writer_.whole(state, Mode::read), states[0], states[1], states[2], states[3],
                   writer_.owned(unit.gradient, gradient_bytes, Mode::read)}};
  if (request.optimizer == OptimizerKind::lamb) {
    lamb(adam);
  } else {
    writer_.emit(adam);
  }
}

// A trust ratio needs the norms of the whole tensor, so LAMB is two passes around a small
// all-reduce.
void Updater::lamb(const PlanOp& adam) {
  const Unit& unit = writer_.unit(adam.unit);
  const int64_t bytes = int64_t(unit.placements.size()) * int64_t(sizeof(kernels::LambNorms));
  const int32_t norms =
      writer_.transient(unit.name + ".norms", Use::step_data, bytes, unit.optimizer_site());
  writer_.clear(norms, adam.lane);
  PlanOp first = adam;
  first.kind = Kind::lamb_norms;
  first.operands[1].mode = Mode::read;
  first.operands[2].mode = Mode::read;
  first.operands.push_back(writer_.whole(norms, Mode::update));
  writer_.emit(first);
  if (unit.optimizer_sharded) writer_.all_reduce(norms);
  PlanOp second = adam;
  second.kind = Kind::lamb_apply;
  second.operands[3].mode = Mode::read;
  second.operands[4].mode = Mode::read;
  second.operands.push_back(writer_.whole(norms, Mode::read));
  writer_.emit(second);
}

void Updater::gather(int32_t u) {
  const Unit& unit = writer_.unit(u);
  const Request& request = writer_.request();
  const int64_t shard = unit.shard_numel * int64_t(bytes_of(request.compute));
  writer_.all_gather(u, {.element = request.compute,
                         .shard = writer_.owned(unit.weight, shard, Mode::read),
                         .full = writer_.whole(unit.weight, Mode::update),
                         .bucket_numel = request.gather_bucket_numel});
}

void Updater::spread() {
  if (writer_.request().overlap) slack_.apply(writer_.body().ops);
}

}  // namespace zero::plan
