#include "zero/train/trainer.hpp"

#include <algorithm>
#include <csignal>

#include "zero/train/health.hpp"
#include "zero/train/stop_signal.hpp"

namespace zero::train {

namespace {

/// Votes; a greater one is the number of a signal.
constexpr int32_t kGoOn = 0, kTimeIsUp = 1;
static_assert(kTimeIsUp < SIGINT && kTimeIsUp < SIGTERM && kTimeIsUp < SIGUSR1);

std::string reason_of(int32_t vote) {
  return vote == kTimeIsUp ? "run.walltime" : StopSignal::name_of(vote);
}

}  // namespace

int64_t last_step(const RunConfig& config) {
  return config.run.stop_at ? config.run.stop_at : config.run.steps;
}

Trainer::Trainer(Parts parts)
    : parts_(std::move(parts)),
      loader_{.data = *parts_.data.train,
              .batch = parts_.build.batch,
              .seed = uint64_t(parts_.config.run.seed)},
      saved_(parts_.done) {}

Outcome Trainer::run() {
  const StopSignal signals;
  const int64_t last = last_step(parts_.config);
  Peers& peers = parts_.session.peers();
  int64_t step = parts_.done;
  int32_t stop = kGoOn;
  while (step < last && stop == kGoOn) {
    parts_.session.set_step(++step);
    peers.cast_vote(vote());
    attempt(step);
    stop = peers.count_vote();
    if (is_save_due(step)) save(step);
    if (stop == kGoOn && is_evaluation_due(step)) evaluate_weights(step);
  }
  if (step == parts_.done) complete_weights(step);
  finish();
  save(step);
  const bool cut = step < last;
  const bool evaluated = evaluation_ && evaluation_->step == step;
  if (!cut && !evaluated && parts_.data.validation) evaluate_weights(step);
  return {.steps = step,
          .saved = saved_,
          .stopped_by = cut ? reason_of(stop) : "",
          .evaluation = evaluation_};
}

/// Cast as a step begins: whether it is to be the last one, and why.
int32_t Trainer::vote() {
  const bool ends = parts_.time_limit.is_last_step(TimeLimit::Clock::now());
  return std::max<int32_t>(StopSignal::received(), ends ? kTimeIsUp : kGoOn);
}

void Trainer::attempt(int64_t step) {
  time_pending();
  begun_ = Clock::now();
  const run::PhaseSeconds before = parts_.engine.executor().phase_seconds();
  loader_.load(parts_.engine, parts_.session.rank(), step);
  const kernels::StepInputs inputs = loader_.inputs(step);
  parts_.engine.run(plan::kStep, with_pending(inputs));
  if (pending_) settle(step);
  pending_.emplace();
  pending_->report.step = step;
  pending_->tokens = inputs.counted_tokens;
  pending_->exposed_seconds = parts_.engine.exposed_seconds();
  pending_->phases = parts_.engine.executor().phase_seconds();
  for (size_t i = 0; i < before.size(); ++i) pending_->phases[i] -= before[i];
}

/// Called when the attempt that follows begins, or what is no attempt: an evaluation, a checkpoint.
void Trainer::time_pending() {
  if (pending_) pending_->seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
}

/// The update of the last attempt, without the forward pass that hides it in the steady state.
void Trainer::finish() {
  if (!pending_) return;
  time_pending();
  parts_.engine.run(plan::kFinish, with_pending(loader_.inputs(pending_->report.step)));
  settle(pending_->report.step);
  pending_.reset();
}

/// Loaded weights are whole on every rank only after a first body, which then was none of a step.
void Trainer::complete_weights(int64_t step) {
  parts_.engine.run(plan::kFinish, loader_.inputs(step));
}

/// Saving applies the pending update earlier than the next step would, with the same bits.
void Trainer::save(int64_t step) {
  if (!parts_.save || saved_ == step) return;
  finish();
  if (parts_.save(step)) saved_ = step;
}

void Trainer::evaluate_weights(int64_t step) {
  finish();
  evaluation_ =
      evaluate(parts_.engine, *parts_.data.validation, parts_.session.rank(), loader_.inputs(step));
  parts_.on_evaluation(*evaluation_);
}

/// The decision about the pending attempt is on the device when the next body has run; the
/// gradients there are then those of `gradients_step`.
void Trainer::settle(int64_t gradients_step) {
  StepRecord settled = *pending_;
  settled.report = parts_.engine.state().report;
  ZERO_REQUIRE(settled.report.step == pending_->report.step, "the report is of step ",
               settled.report.step, ", not ", pending_->report.step);
  parts_.on_step(settled);
  check_health(parts_.session, parts_.engine, parts_.config,
               {.report = settled.report, .gradients_step = gradients_step});
}

bool Trainer::is_evaluation_due(int64_t step) const {
  const int64_t interval = parts_.config.evaluation.interval;
  return parts_.data.validation && interval > 0 && step % interval == 0;
}

bool Trainer::is_save_due(int64_t step) const {
  const int64_t interval = parts_.config.checkpoint.interval;
  return interval > 0 && step % interval == 0;
}

kernels::StepInputs Trainer::with_pending(kernels::StepInputs inputs) const {
  if (!pending_) return inputs;
  inputs.pending = 1;
  inputs.pending_step = pending_->report.step;
  inputs.pending_tokens = pending_->tokens;
  return inputs;
}

}  // namespace zero::train
