#include <algorithm>

#include "src/compile/body_builder.hpp"
#include "src/compile/passes.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::plan {
namespace {

bool runs_on_host(const Unit& unit) { return unit.optimizer_site() == Tier::host; }

/// Returns the number of moved units that are staged at the same time.
int staged_units(const Plan& plan) {
  const auto moved = std::count_if(plan.units.begin(), plan.units.end(),
                                   [](const Unit& unit) { return unit.is_moved(); });
  return int(std::clamp<ptrdiff_t>(moved, 1, plan.request.staged_units));
}

/// Returns the number of units brought ahead of the updated one. A unit for the device must be on
/// its way before results of earlier units leave. Otherwise lanes would take turns, because each
/// runs its ops in one order. Half of the staged units come and half go.
int units_ahead(const Plan& plan) {
  return update_sites(plan).on_device > 0 ? staged_units(plan) / 2 : 0;
}

void copy_states(Plan& plan, Unit& unit) {
  const std::vector<int32_t> states = unit.updated();
  unit.ahead.assign(states.size(), -1);
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i] < 0 || plan.buffers[size_t(states[i])].tier != Tier::nvme) continue;
    const Buffer& home = plan.buffers[size_t(states[i])];
    unit.ahead[i] = int32_t(plan.buffers.size());
    plan.buffers.push_back({.name = home.name + ".ahead",
                            .bytes = home.bytes,
                            .tier = Tier::host,
                            .use = Use::staging,
                            .persistent = true,
                            .copy_of = states[i]});
  }
}

}  // namespace

std::vector<int32_t> update_order(const Plan& plan) {
  std::vector<int32_t> order;
  for (const Gather& first : find_first_uses(plan.units, find_uses(plan.graphs[0]))) {
    if (!plan.units[size_t(first.unit)].frozen) order.push_back(first.unit);
  }
  return order;
}

// Makes no copies without overlap, because there is nothing to read ahead of.
void place_copies(Plan& plan) {
  if (!plan.request.overlap) return;
  int left = staged_units(plan);
  for (int32_t u : update_order(plan)) {
    Unit& unit = plan.units[size_t(u)];
    if (!unit.is_moved()) continue;
    if (left-- == 0) return;
    copy_states(plan, unit);
  }
}

Updater::Updater(BodyWriter& writer)
    : writer_(writer),
      order_(update_order(writer.plan())),
      ahead_(units_ahead(writer.plan())),
      slack_(staged_units(writer.plan()) - 1 - ahead_) {
  list_units();
  weights_.resize(is_last_.size());
}

// Lists the last staged units, and the copies to read. As many units move at the same time as there
// are copies. Copies rotate, so the slots after the last unit's are free first.
void Updater::list_units() {
  std::vector<int32_t> moved = order_;
  std::erase_if(moved, [&](int32_t u) { return !writer_.unit(u).is_moved(); });
  const size_t staged = std::min(moved.size(), size_t(staged_units(writer_.plan())));
  is_last_.assign(writer_.plan().units.size(), false);
  for (size_t i = moved.size() - staged; i < moved.size(); ++i) is_last_[size_t(moved[i])] = true;
  for (size_t i = 0; i < staged; ++i) {
    const int32_t u = moved[(moved.size() + i) % staged];
    bool begins = true;
    for (int32_t copy : writer_.unit(u).ahead) {
      if (copy < 0) continue;
      reads_.push_back({.unit = u, .copy = copy, .begins_unit = begins});
      ahead_bytes_ += writer_.whole(copy, Mode::write).bytes;
      begins = false;
    }
  }
}

void Updater::decide() {
  Plan& plan = writer_.plan();
  const auto whole = [&](int32_t buffer, Mode mode) { return writer_.whole(buffer, mode); };
  writer_.emit(
      {.kind = Kind::decide,
       .operands = {whole(plan.input(0, graph::FilledBy::step).buffer, Mode::read),
                    whole(plan.step_sums(), Mode::update), whole(plan.step_state, Mode::update)}});
  if (std::none_of(plan.units.begin(), plan.units.end(), runs_on_host)) return;
  host_state_ = writer_.bring(-1, whole(plan.step_state, Mode::read), Tier::host);
}

Operand Updater::update(int32_t u) {
  const Unit& unit = writer_.unit(u);
  Operand weight = unit.is_speculated() ? settle(u) : update_now(u);
  if (unit.is_joined() && unit.weight_home == Tier::device) {
    gather(u, weight_at_home(u, Mode::read), writer_.whole(unit.weight, Mode::update));
    weight = writer_.whole(unit.weight, Mode::read);
  }
  const bool keeps = unit.weight_home == Tier::nvme && writer_.tier_of(weight) == Tier::host &&
                     is_last_[size_t(u)] && writer_.request().overlap;
  weights_[size_t(u)] = keeps ? weight : writer_.whole(unit.weight, Mode::read);
  return weight;
}

Operand Updater::update_now(int32_t u) {
  const bool moves = writer_.unit(u).is_moved();
  if (moves) slack_.begin(writer_.size());
  const States staged = bring(u);
  run(u, staged);
  const bool joins = writer_.unit(u).is_joined_away();
  const Operand weight = joins ? join(u, staged[0].here) : send_home(u, staged[0]);
  for (size_t state = 1; state < staged.size(); ++state) send_home(u, staged[state]);
  if (moves) slack_.end(writer_.size());
  return weight;
}

const Updater::States& Updater::bring(int32_t u) {
  const size_t place = size_t(std::find(order_.begin(), order_.end(), u) - order_.begin());
  const size_t end = std::min(place + size_t(ahead_) + 1, order_.size());
  while (states_.size() < end) states_.push_back(stage_unit(order_[states_.size()]));
  return states_[place];
}

Operand Updater::weight_at_home(int32_t u, Mode mode) const {
  const Unit& unit = writer_.unit(u);
  const int64_t numel = unit.optimizer_sharded ? unit.shard_numel : unit.numel;
  return writer_.owned(unit.weight, numel * int64_t(bytes_of(writer_.request().compute)), mode);
}

Updater::States Updater::stage_unit(int32_t u) {
  const Unit& unit = writer_.unit(u);
  if (unit.is_speculated()) return {};
  const std::vector<int32_t> updated = unit.updated(), ahead = unit.ahead;
  States staged;
  for (size_t i = 0; i < updated.size(); ++i) {
    const Operand home =
        i == 0 ? weight_at_home(u, Mode::update) : writer_.whole(updated[i], Mode::update);
    staged.push_back(stage(u, home, ahead.empty() ? -1 : ahead[i]));
  }
  return staged;
}

Updater::Staged Updater::stage(int32_t u, const Operand& home, int32_t copy) {
  const Tier site = writer_.unit(u).optimizer_site();
  if (home.buffer < 0 || writer_.tier_of(home) == site) return {home, home};
  const Operand from = copy < 0 ? home : writer_.whole(copy, Mode::read);
  if (writer_.tier_of(from) == site) return {home, writer_.whole(copy, Mode::update)};
  return {home, writer_.whole(writer_.bring(u, from, site), Mode::update)};
}

Operand Updater::send_home(int32_t u, const Staged& staged) {
  if (!staged.is_away()) return staged.home;
  Operand to = staged.home, from = staged.here;
  to.mode = to.sharded ? Mode::update : Mode::write;
  const Tier home = writer_.tier_of(to);
  if (writer_.tier_of(from) == Tier::device && home == Tier::nvme) {
    from = writer_.whole(writer_.bring(u, from, Tier::host), Mode::read);
  }
  writer_.move(u, from, to);
  // A shard on the device can be gathered in place.
  const bool gathers = writer_.unit(u).weight_sharded;
  if (gathers && writer_.tier_of(staged.here) == Tier::device) return staged.here;
  return home == Tier::nvme ? from : staged.home;
}

void Updater::read_ahead(double share) {
  for (; read_ < reads_.size() && double(read_bytes_) < share * double(ahead_bytes_); ++read_) {
    const Read& read = reads_[read_];
    if (read.begins_unit) slack_.begin(writer_.size());
    const Operand to = writer_.whole(read.copy, Mode::write);
    const int32_t home = writer_.plan().buffers[size_t(read.copy)].copy_of;
    writer_.move(read.unit, writer_.whole(home, Mode::read), to);
    read_bytes_ += to.bytes;
  }
}

void Updater::run(int32_t u, const States& states) {
  const int32_t state = runs_on_host(writer_.unit(u)) ? host_state_ : writer_.plan().step_state;
  std::vector<Operand> updated;
  for (const Staged& staged : states) updated.push_back(staged.here);
  PlanOp update = optimizer_op(u, Kind::update, state, updated);
  if (writer_.request().optimizer.needs_norms()) {
    run_with_norms(update);
  } else {
    writer_.emit(std::move(update));
  }
}

PlanOp Updater::optimizer_op(int32_t u, Kind kind, int32_t state,
                             const std::vector<Operand>& updated) const {
  const Unit& unit = writer_.unit(u);
  const RestingGradient gradient = resting_gradient(writer_.request(), unit.optimizer_site());
  const int64_t numel = unit.optimizer_sharded ? unit.shard_numel : unit.numel;
  PlanOp op{.kind = kind,
            .lane = runs_on_host(unit) ? Lane::host_optimizer : Lane::compute,
            .unit = u,
            .in = gradient.element,
            .out = writer_.request().compute,
            .round_gradient = gradient.round_gradient,
            .operands = {writer_.whole(state, Mode::read)}};
  op.operands.insert(op.operands.end(), updated.begin(), updated.end());
  op.operands.push_back(
      writer_.owned(unit.gradient, numel * int64_t(bytes_of(gradient.element)), Mode::read));
  return op;
}

// Norms of whole tensors need a small all-reduce, so one pass comes before it and one after.
void Updater::run_with_norms(const PlanOp& update) {
  const Unit& unit = writer_.unit(update.unit);
  const int64_t tensors = stored_tensors(writer_.plan().graphs[0], unit);
  const int64_t bytes = tensors * int64_t(sizeof(kernels::TensorNorms));
  const int32_t norms =
      writer_.transient(unit.name + ".norms", Use::step_data, bytes, unit.optimizer_site());
  writer_.clear(norms, update.lane);
  PlanOp first = update;
  first.kind = Kind::add_norms;
  first.operands[kWeightOperand].mode = Mode::read;
  first.operands[kLowOperand].mode = Mode::read;
  first.operands.push_back(writer_.whole(norms, Mode::update));
  writer_.emit(first);
  if (unit.optimizer_sharded) writer_.all_reduce(norms);
  PlanOp second = update;
  second.kind = Kind::apply_norms;
  for (size_t i = 0; i < unit.states.size(); ++i) {
    second.operands[kFirstState + i].mode = Mode::read;
  }
  second.operands.push_back(writer_.whole(norms, Mode::read));
  writer_.emit(second);
}

// The device gathers next from where it joins the weight.
Operand Updater::join(int32_t u, const Operand& updated) {
  const Unit& unit = writer_.unit(u);
  const Buffer home = writer_.plan().buffers[size_t(unit.weight)];
  const int32_t here = writer_.transient(home.name + ".joined", Use::staging, home.bytes);
  Operand part = updated;
  if (writer_.tier_of(part) != Tier::device) {
    part = writer_.whole(writer_.bring(u, part, Tier::device), Mode::read);
  }
  gather(u, part, writer_.whole(here, Mode::write));
  writer_.move(u, writer_.whole(here, Mode::read), writer_.whole(unit.weight, Mode::write));
  return writer_.whole(here, Mode::read);
}

void Updater::gather(int32_t u, Operand part, const Operand& full) {
  const Request& request = writer_.request();
  part.mode = Mode::read;
  writer_.all_gather(u, {.element = request.compute,
                         .shard = part,
                         .full = full,
                         .bucket_numel = request.gather_bucket_numel,
                         .team = request.has_groups() ? Team::across : Team::all});
}

void Updater::spread() {
  if (writer_.request().overlap) slack_.apply(writer_.body().ops);
}

}  // namespace zero::plan
