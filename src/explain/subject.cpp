#include "src/explain/subject.hpp"

#include <algorithm>

#include "src/explain/fitted.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/machine_file.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/process_limits.hpp"
#include "zero/base/text.hpp"
#include "zero/launch/cores.hpp"
#include "zero/train/evaluator.hpp"

namespace zero::explain {
namespace {

/// Returns the rates that chose the run's plan: of run.machine, else of its device.
plan::Machine rates_of(const RunConfig& config, const report::Measured& measured) {
  if (!config.run.machine.empty()) return advise::rates_of_key(config, measured.ranks).machine;
  return plan::machine_profile(plan::profile_of(measured.device), setup::compute_dtype(config));
}

bool sets_limit(const RunConfig& config) {
  return config.memory.device_limit > 0 || config.memory.host_limit > 0;
}

SameBytes same_bytes(const Compiled& own, const Compiled& other) {
  const RunConfig &a = own.placement.config, &b = other.placement.config;
  if (own.build().batch.train != other.build().batch.train) return SameBytes::batch_changes;
  // Stages 0 and 1 have the same bits, and so have 2 and 3.
  const bool is_other_stage = !a.numerics.reproducible && a.zero.stage / 2 != b.zero.stage / 2;
  const bool is_fused = own.world.gpus && !a.numerics.reproducible;
  const bool is_selective = (a.recompute.mode == Recompute::Mode::selective) !=
                            (b.recompute.mode == Recompute::Mode::selective);
  const bool differs = own.build().batch.micro != other.build().batch.micro || is_other_stage ||
                       own.world.threads != other.world.threads ||
                       a.numerics.gradient_dtype != b.numerics.gradient_dtype ||
                       a.communication_data_type != b.communication_data_type ||
                       (is_fused && is_selective);
  return differs ? SameBytes::no : SameBytes::yes;
}

}  // namespace

Subject::Subject(const model::Catalogue& catalogue, const std::string& run)
    : catalogue_(catalogue),
      run_(run),
      measured_(report::measured_of(run)),
      gpus_(!measured_.device.empty()) {
  if (!is_there(run + "/effective.toml")) {
    refuse(Exit::kInput, run, "/effective.toml: is missing; explain needs the settings of the run");
  }
  own_ = compile({});
  admit_own();
  fitted_ = fitted_machine(base_, own_->build().plan, measured_);
  own_seconds_ = plan::forecast(own_->build().plan, fitted_).step_seconds;
  beside_seconds_ = std::max(0.0, measured_.step_seconds - own_seconds_);
}

Compiled Subject::compile(const Settings& settings) {
  const ConfigInput input =
      read_config_file(catalogue_.models, run_ + "/effective.toml", settings, zero::Writer::run,
                       train::start_reader(catalogue_, start_));
  start_.is_found = true;
  const RunConfig& config = input.config;
  const int64_t threads = config.run.threads > 0 ? config.run.threads : measured_.threads;
  Compiled made{.world = {.ranks = int(measured_.ranks), .threads = int(threads), .gpus = gpus_},
                .placement = {}};
  input.locate([&] {
    if (!own_) choose_machine(config);
    train::count_texts(config, train::first_generation(config, start_.opened.get()), made.world);
    made.placement = advise::choose_placement(config, made.world, limit_, base_);
  });
  return made;
}

/// Sets the rates that chose the run's plan, and the memory by which changes are judged: this
/// host's, or that of the device's profile.
void Subject::choose_machine(const RunConfig& config) {
  base_ = rates_of(config, measured_);
  base_.node_ranks = measured_.node_ranks;
  const int node_ranks = int(measured_.node_ranks);
  if (gpus_) {
    limit_ = advise::machine_limit(config, base_, node_ranks, measured_.ranks);
  } else {
    limit_ = advise::host_limit(config, node_ranks);
    limit_.disk = advise::disk_room(config, node_ranks);
  }
}

/// Counts a live run's own bytes as free. A run that would not fit has shown that it does.
void Subject::admit_own() {
  const int64_t own = advise::counted_bytes(own_->build(), limit_);
  const bool is_here = measured_.is_live && !gpus_ && measured_.host == host_name();
  if (is_here && !sets_limit(own_->placement.config) && limit_.bytes > 0) limit_.bytes += own;
  if (advise::fits(own_->build(), limit_)) return;
  limit_ = {.bytes = own, .source = "what the run takes", .of_host = limit_.of_host};
}

Present Subject::present() const {
  const RunConfig& config = own_->placement.config;
  const advise::MemoryLimit within = advise::limit_of_largest(config, limit_);
  Present present{.config = config,
                  .batch = own_->build().batch,
                  .ranks = measured_.ranks,
                  .threads = measured_.threads,
                  .node_ranks = measured_.node_ranks,
                  .cores = measured_.host == host_name() ? launch::allowed_cores().count() : 0,
                  .gpus = gpus_,
                  .largest_unit = 0,
                  .most_micro_samples =
                      advise::largest_micro_batch(config, own_->world, advise::fits_in(within))};
  for (const plan::Unit& unit : own_->build().plan.units)
    present.largest_unit = std::max(present.largest_unit, unit.numel);
  return present;
}

plan::Machine Subject::machine_of(int threads) const {
  plan::Machine machine = fitted_;
  const double more = double(threads) / double(measured_.threads);
  machine.product_flops *= more;
  machine.memory_bandwidth *= more;
  machine.host_bandwidth *= more;
  return machine;
}

Trial Subject::trial(const Settings& settings) {
  Trial trial{.settings = settings};
  try {
    const Compiled other = compile(settings);
    const plan::Plan& plan = other.build().plan;
    const double seconds =
        plan::forecast(plan, machine_of(other.world.threads)).step_seconds + beside_seconds_;
    const double own = own_seconds_ + beside_seconds_;
    const double samples = double(other.build().batch.train) / double(own_->build().batch.train);
    trial.gain = samples * own / seconds - 1;
    trial.more_bytes = double(advise::counted_bytes(other.build(), limit_) -
                              advise::counted_bytes(own_->build(), limit_));
    trial.same_bytes = same_bytes(*own_, other);
    trial.fits = advise::fits(other.build(), limit_);
  } catch (const Error& error) {
    const bool is_refusal = error.exit() == Exit::kUsage || error.exit() == Exit::kDoesNotFit;
    if (!is_refusal) throw;
    trial.refused = error.what();
  }
  return trial;
}

}  // namespace zero::explain
