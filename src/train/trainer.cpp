#include "src/train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>

#include "zero/base/text.hpp"
#include "zero/device/device.hpp"
#include "zero/launch/failure.hpp"
#include "zero/launch/stop.hpp"
#include "zero/save/checkpoint_facts.hpp"

namespace zero::train {
namespace {

/// The gradient operand of one unit's update, as the optimizer reads it.
struct Gradient {
  const plan::Unit* unit;
  Dtype dtype;
  Dtype rounded_to;
  const std::byte* data;
  state::UnitRange range;
  std::vector<std::byte> copy = {};  ///< owns `data` if the host cannot address it
};

Gradient gradient_of(const state::StateView& view, const plan::PlanOp& update) {
  const plan::Operand& operand =
      update.operands[plan::gradient_operand(view.plan->request.optimizer)];
  const plan::Unit& unit = view.plan->units[size_t(update.unit)];
  const int64_t offset = operand.offset + (operand.sharded ? view.rank * operand.bytes : 0);
  Gradient gradient{.unit = &unit,
                    .dtype = update.in,
                    .rounded_to = update.round_gradient ? view.plan->request.compute : update.in,
                    .data = nullptr,
                    .range = state::held_range(unit, unit.optimizer_sharded, view.rank)};
  if (view.is_far(operand.buffer)) {
    gradient.copy.resize(size_t(operand.bytes));
    view.read_far(operand.buffer, offset, gradient.copy);
    gradient.data = gradient.copy.data();
  } else {
    gradient.data = view.bytes(operand.buffer).data() + offset;
  }
  return gradient;
}

float stored_at(const Gradient& gradient, int64_t place) {
  switch (gradient.dtype) {
    case Dtype::bf16:
      return float(reinterpret_cast<const bf16*>(gradient.data)[place]);
    case Dtype::f16:
      return float(reinterpret_cast<const f16*>(gradient.data)[place]);
    default:
      return reinterpret_cast<const float*>(gradient.data)[place];
  }
}

float value_at(const Gradient& gradient, int64_t i) {
  const float stored = stored_at(gradient, i - gradient.range.begin);
  if (gradient.rounded_to == Dtype::bf16) return float(bf16(stored));
  return gradient.rounded_to == Dtype::f16 ? float(f16(stored)) : stored;
}

std::string first_nonfinite_in(const plan::Plan& plan, const Gradient& gradient) {
  for (const plan::UnitParameter& place : gradient.unit->parameters) {
    const int64_t first = std::max(place.begin, gradient.range.begin);
    const int64_t last = std::min(place.begin + place.numel, gradient.range.end);
    for (int64_t i = first; i < last; ++i) {
      if (std::isfinite(value_at(gradient, i))) continue;
      const graph::Graph& graph = plan.graphs[0];
      const graph::Parameter& parameter = graph.parameters[size_t(place.parameter)];
      return text(graph[parameter.tensor].name, ", element ", i - place.begin);
    }
  }
  return "";
}

std::string advice(const RunConfig& config) {
  return config.fp16.enabled ? "use bf16, or lower optimizer.lr"
                             : "lower optimizer.lr or gradient_clipping, or look at the data";
}

/// Votes, of which the greatest counts. A vote that ends the run also saves it. Signals vote above
/// kSignals.
constexpr int32_t kGoOn = 0, kSaves = 1, kTimeIsUp = 2, kStops = 3, kSignals = 16;

std::string reason_of(int32_t vote, const RunConfig& config) {
  if (vote == kTimeIsUp) return config.run.walltime > 0 ? "run.walltime" : "the job's end";
  return vote == kStops ? launch::name_of(launch::UserRequest::stop)
                        : launch::StopSignal::name_of(vote - kSignals);
}

bool picks_best(const RunConfig& config) { return !config.checkpoint.best_metric.empty(); }

/// Returns the bytes that this rank has sent to other nodes.
int64_t node_bytes_of(const state::Engine& engine) {
  const comm::TrafficTable sent = engine.traffic();
  return sent.all_gather.node_bytes_sent + sent.reduce_scatter.node_bytes_sent +
         sent.all_reduce.node_bytes_sent;
}

int32_t vote_of(launch::UserRequest request) {
  constexpr int32_t kVotes[] = {kGoOn, kSaves, kStops};
  return kVotes[size_t(request)];
}

}  // namespace

std::string first_nonfinite_gradient(const state::StateView& view) {
  for (const plan::PlanOp& op : view.plan->bodies[plan::kFinish].ops) {
    if (!plan::is_update(op.kind) || op.kind == plan::Kind::apply_norms) continue;
    const std::string found = first_nonfinite_in(*view.plan, gradient_of(view, op));
    if (!found.empty()) return found;
  }
  return "";
}

void check_health(launch::Session& session, state::Engine& engine, const RunConfig& config,
                  const Decided& decided) {
  const kernels::StepReport& report = decided.report;
  const bool too_many =
      save::counts_streaks(config) && report.skipped_in_row > config.numerics.max_bad_steps;
  if (!report.scale_exhausted && !too_many) return;
  std::string where = "the loss";
  const std::vector<std::string> found =
      session.peers().share(first_nonfinite_gradient(engine.view()));
  for (size_t rank = found.size(); rank-- > 0;) {
    if (!found[rank].empty()) where = text(found[rank], " (rank ", rank, ")");
  }
  if (decided.gradients_step != report.step) {
    where += text(" (seen in the gradients of step ", decided.gradients_step, ")");
  }
  session.on_every_rank([&] {
    if (report.scale_exhausted) {
      refuse(Exit::kNumerics, "step ", report.step,
             " overflowed with the loss scale at its minimum, ", report.loss_scale,
             "; not finite: ", where, " - ", advice(config));
    }
    refuse(Exit::kNumerics, counted(report.skipped_in_row, "step"), " in a row",
           report.skipped_in_row == 1 ? " was" : " were", " not finite, up to step ", report.step,
           "; not finite: ", where, " - ", advice(config));
  });
}

Trainer::Trainer(Parts parts)
    : parts_(std::move(parts)),
      loader_{.data = *parts_.data.train,
              .batch = parts_.build.batch,
              .seed = uint64_t(parts_.config.run.seed),
              .done = parts_.done,
              .audit_interval = parts_.config.run.audit_interval},
      rows_(loader_, parts_.engine, parts_.session.rank()),
      saved_(parts_.done.steps),
      digested_(parts_.done.steps) {
  if (loader_.audit_interval > 0) auditor_.emplace(parts_.session, parts_.engine, loader_, rows_);
  if (!parts_.data.validation) return;
  evaluator_.emplace(EvaluationParts{.session = parts_.session,
                                     .engine = parts_.engine,
                                     .validation = *parts_.data.validation,
                                     .objective = model::objective_for(parts_.config)});
}

Outcome Trainer::run() {
  const int64_t last = last_step(parts_.config);
  launch::Peers& peers = parts_.session.peers();
  int64_t step = parts_.done.steps;
  int32_t votes = kGoOn;
  while (step < last && votes <= kSaves && !is_out_of_patience()) {
    parts_.session.set_step(++step);
    peers.cast_vote(ballot());
    attempt(step);
    votes = peers.count_vote();
    if (step > parts_.done.steps + 1) parts_.observer.on_ranks(step - 1, peers.ballots());
    audit(step);
    leave_step(step, votes);
  }
  if (step == parts_.done.steps) complete_weights(step);
  finish();
  const bool cut = votes > kSaves && step < last;
  end(step, cut);
  return {.steps = step,
          .saved = saved_,
          .stopped_by = cut ? reason_of(votes, parts_.config) : "",
          .evaluation = evaluation_,
          .out_of_patience = !cut && is_out_of_patience()};
}

/// Returns this rank's part in the vote of a step that begins.
launch::Ballot Trainer::ballot() {
  launch::Ballot ballot = times_;
  ballot.word = vote();
  return ballot;
}

/// Returns this rank's vote as a step begins: go on, save, or stop after it, and the cause.
int32_t Trainer::vote() {
  const launch::TimeLimit::Clock::time_point now = launch::TimeLimit::Clock::now();
  int32_t vote = vote_of(parts_.requests.take(now));
  if (parts_.time_limit.is_last_step(now)) vote = std::max(vote, kTimeIsUp);
  const int32_t signal = launch::StopSignal::received();
  return signal ? kSignals + signal : vote;
}

/// Does what is due between this step and the next.
void Trainer::leave_step(int64_t step, int32_t votes) {
  hear_of_saves(false);
  const bool evaluates = votes <= kSaves && is_evaluation_due(step);
  // Evaluate first only if the result chooses the best checkpoint. Otherwise save first, to lose
  // less in a crash.
  if (evaluates && picks_best(parts_.config)) evaluate_weights(step);
  if (is_save_due(step) || votes == kSaves) save(step);
  // A signal may leave little time, so end() saves before it takes the last step's digests.
  if (votes <= kSaves && step < last_step(parts_.config)) take_digests(step);
  if (evaluates && !picks_best(parts_.config)) evaluate_weights(step);
}

/// Does what is due after the last step.
void Trainer::end(int64_t step, bool cut) {
  const bool evaluated = evaluation_ && evaluation_->step == step;
  const bool evaluates = !cut && !evaluated && parts_.data.validation;
  if (evaluates && picks_best(parts_.config)) evaluate_weights(step);
  hear_of_saves(true);
  save(step);
  hear_of_saves(true);
  take_digests(step);
  if (evaluates && !picks_best(parts_.config)) evaluate_weights(step);
  if (!cut) load_best(step);
}

void Trainer::attempt(int64_t step) {
  time_pending();
  begun_ = Clock::now();
  const run::PhaseSeconds before = parts_.engine.executor().phase_seconds();
  const int64_t sent_before = node_bytes_of(parts_.engine);
  {
    const launch::Lookout::Busy reading(parts_.session.lookout());
    rows_.load(step);
  }
  if (step < last_step(parts_.config)) rows_.begin(step + 1);
  const kernels::StepInputs inputs = loader_.inputs(step);
  parts_.engine.run(plan::kStep, with_pending(inputs));
  if (pending_) settle(step);
  pending_.emplace();
  pending_->report.step = step;
  pending_->counted = inputs.counted_tokens;
  pending_->exposed_seconds = parts_.engine.exposed_seconds();
  times_ = {.compute_ms = float(1e3 * parts_.engine.compute_seconds()),
            .waited_ms = float(1e3 * pending_->exposed_seconds)};
  // Steps free no device memory, so their ends show the peak.
  device_bytes_peak_ = std::max(device_bytes_peak_, used_device_bytes());
  pending_->device_bytes_peak = device_bytes_peak_;
  pending_->node_bytes_sent = node_bytes_of(parts_.engine) - sent_before;
  pending_->phases = parts_.engine.executor().phase_seconds();
  for (size_t i = 0; i < before.size(); ++i) pending_->phases[i] -= before[i];
}

/// Compares the attempt's gradients if its audit is due. Ends the run on a difference, or rejects
/// the attempt.
void Trainer::audit(int64_t step) {
  if (!auditor_ || !loader_.audits(step)) return;
  const std::optional<state::AuditFinding> found = auditor_->audit(step);
  if (!found) return;
  pending_->rejected = true;
  launch::Session& session = parts_.session;
  if (parts_.config.run.audit == AuditAnswer::warn) {
    if (session.is_first()) warn(found->words, "; the attempt is skipped, and training goes on");
    return;
  }
  session.on_every_rank([&] {
    if (session.rank() != found->speaker) return;
    throw launch::NodeError(Exit::kDevice,
                            text(found->words, " - start again on other nodes; the run goes on ",
                                 "from its last checkpoint, made before this step"),
                            found->node);
  });
}

/// Times the pending attempt. Called as the next attempt, an evaluation or a checkpoint begins.
void Trainer::time_pending() {
  if (pending_) pending_->seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
}

/// Applies the last attempt's update, without the forward pass that hides it in the steady state.
void Trainer::finish() {
  if (!pending_) return;
  time_pending();
  parts_.engine.run(plan::kFinish, with_pending(loader_.inputs(pending_->report.step)));
  settle(pending_->report.step);
  pending_.reset();
}

/// Runs a body outside of steps, because loaded weights are whole on every rank only after a first
/// body.
void Trainer::complete_weights(int64_t step) {
  parts_.engine.run(plan::kFinish, loader_.inputs(step));
}

/// Takes the digests once if they are due. Applies the pending update sooner, with the same bits.
void Trainer::take_digests(int64_t step) {
  if (!parts_.digests || step == digested_ || step % parts_.config.run.digest_interval != 0) return;
  digested_ = step;
  finish();
  parts_.digests(step);
}

/// Saves the state. Applies the pending update sooner than the next step would, with the same bits.
void Trainer::save(int64_t step) {
  if (!parts_.saver || saved_ == step) return;
  finish();
  parts_.saver->save(loader_.before(step + 1));
}

void Trainer::hear_of_saves(bool waits) {
  if (parts_.saver) saved_ = std::max(saved_, parts_.saver->committed(waits));
}

void Trainer::load_best(int64_t step) {
  if (!parts_.saver || !parts_.config.checkpoint.load_best_at_end) return;
  const std::optional<state::Evaluation> best = parts_.saver->load_best(step);
  if (!best) return;
  complete_weights(step);
  evaluation_ = best;
}

void Trainer::evaluate_weights(int64_t step) {
  finish();
  evaluation_ = evaluator_->evaluate(loader_.inputs(step));
  // Weights with a non-finite loss write no texts. The run's fate is decided elsewhere.
  if (parts_.answers && std::isfinite(evaluation_->loss)) parts_.answers(*evaluation_);
  parts_.observer.on_evaluation(*evaluation_);
}

bool Trainer::is_out_of_patience() const {
  return parts_.saver && parts_.saver->is_out_of_patience();
}

/// Reports the pending attempt, whose decision is on the device once the next body has run. The
/// gradients there are then those of `gradients_step`.
void Trainer::settle(int64_t gradients_step) {
  monitor::StepRecord settled = *pending_;
  settled.report = parts_.engine.state().report;
  ZERO_REQUIRE(settled.report.step == pending_->report.step, "the report is of step ",
               settled.report.step, ", not ", pending_->report.step);
  parts_.engine.spikes().hear(settled.report);
  parts_.observer.on_step(settled);
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
  inputs.pending_tokens = pending_->counted;
  inputs.rejected = pending_->rejected;
  inputs.limits = parts_.engine.spikes().limits();
  return inputs;
}

}  // namespace zero::train
