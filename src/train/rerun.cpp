#include "zero/train/rerun.hpp"

#include <utility>

#include "src/train/chain.hpp"
#include "zero/base/error.hpp"
#include "zero/config/batch_keys.hpp"
#include "zero/setup/prepare_data.hpp"
#include "zero/state/batch_loader.hpp"

namespace zero::train {
namespace {

constexpr save::Checkpointer::ReadsOnly kReadsOnly{};

/// Turns off all that a run does beside its steps. Any number of ranks takes the run's batch.
void leave_steps_alone(const RerunOf& of, int ranks, RunConfig& config) {
  const BatchSizes batch = resolve_batch(config, of.ranks);
  config.train_batch_size = batch.train;
  config.train_micro_batch_size_per_gpu = batch.micro;
  config.gradient_accumulation_steps = 0;
  // Other ranks may not fill the run's groups, and have its bits without any.
  if (ranks != of.ranks) config.zero.shard_group = 0;
  config.run.output = of.folder;
  config.run.stop_at = 0;
  config.run.audit_interval = 0;
  config.evaluation.generate = false;
  config.evaluation.show_samples = 0;
  config.evaluation.choices.clear();
  config.evaluation.documents.clear();
  config.export_model.at_end = false;
  config.checkpoint.resume = Resume::require;
  config.checkpoint.resume_from = of.checkpoint;
  config.checkpoint.async = false;
  config.checkpoint.patience = 0;
}

[[noreturn]] void refuse_preparation(const std::string& folder) {
  refuse(Exit::kInput, folder,
         "/prepared: the prepared data that the run read are gone, or are of ",
         "other files now - put them back, or let the run prepare them by a launch");
}

}  // namespace

struct Rerun::Parts {
  Parts(launch::Session& session, const Order& order, const RerunOf& of)
      : context{session, order, launch::Console(false)} {
    Input input(context);
    session.on_every_rank([&] {
      input.settings.locate([&] { leave_steps_alone(of, session.ranks(), input.settings.config); });
    });
    values.planned.emplace(context, std::move(input));
    values.comms = values.planned->comms;
    values.build = values.planned->made;
    context.enter(launch::Milestone::data);
    DataOptions read_by =
        setup::prepare_data(session, {.settings = values.planned->settings,
                                      .config = values.planned->config,
                                      .say = [](const std::string&) {},
                                      .hold = [&] { refuse_preparation(of.folder); }});
    values.sized.emplace(context, std::move(*values.planned), std::move(read_by));
    values.opened.emplace(context, *values.sized, kReadsOnly);
    values.started.emplace(context, std::move(*values.sized), *values.opened);
    values.live.begin_unseen(context, *values.started, *values.opened);
    context.enter(launch::Milestone::steps);
  }

  Context context;
  Values values;
};

Rerun::Rerun(launch::Session& session, const Order& order, const RerunOf& of)
    : parts_(std::make_unique<Parts>(session, order, of)), done_(parts_->values.started->done()) {}

Rerun::~Rerun() = default;

kernels::StepReport Rerun::step(bool rejects) {
  const Started& started = *parts_->values.started;
  launch::Session& session = parts_->context.session;
  state::Engine& engine = *parts_->values.live.engine;
  const state::BatchLoader loader{.data = *started.sets.train,
                                  .batch = started.build().batch,
                                  .seed = uint64_t(started.config.run.seed),
                                  .done = started.cursor};
  session.set_step(++done_);
  loader.load(engine, session.rank(), done_);
  kernels::StepInputs inputs = loader.inputs(done_);
  engine.run(plan::kStep, inputs);
  inputs.pending = 1;
  inputs.pending_step = done_;
  inputs.pending_tokens = inputs.counted_tokens;
  inputs.limits = engine.spikes().limits();
  inputs.rejected = rejects;
  engine.run(plan::kFinish, inputs);
  const kernels::StepReport report = engine.state().report;
  engine.spikes().hear(report);
  return report;
}

void Rerun::load(const std::string& checkpoint) {
  auto& [context, values] = *parts_;
  values.started->config.checkpoint.resume_from = checkpoint;
  values.opened.emplace(context, *values.started, kReadsOnly);
  values.started->start = values.opened->checkpointer->find_start();
  values.started->cursor =
      save::cursor_of(values.started->start->manifest, values.started->start->folder());
  values.opened->checkpointer->load(*values.started->start, *values.live.engine);
  done_ = values.started->done();
}

state::Engine& Rerun::engine() { return *parts_->values.live.engine; }
const RunConfig& Rerun::config() const { return parts_->values.started->config; }
const save::Facts& Rerun::saved_facts() const {
  return parts_->values.started->start->manifest.facts;
}

std::vector<std::string> Rerun::changes(const save::Facts& saved) const {
  save::Start start{.store = nullptr, .manifest = {}};
  start.manifest.facts = saved;
  return parts_->values.opened->checkpointer->changes(start);
}

std::string Rerun::bytes_note() const {
  return parts_->values.opened->checkpointer->bytes_note(*parts_->values.started->start);
}

}  // namespace zero::train
