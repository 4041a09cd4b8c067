#include "zero/train/rerun.hpp"

#include <utility>

#include "src/train/chain.hpp"
#include "zero/base/error.hpp"
#include "zero/config/batch.hpp"
#include "zero/setup/prepare_data.hpp"
#include "zero/state/batch_loader.hpp"

namespace zero::train {
namespace {

constexpr save::Checkpointer::ReadsOnly kReadsOnly{};

/// Turns off all that a run does beside its steps. Any number of ranks takes the run's batch.
void leave_steps_alone(const RerunOf& of, RunConfig& config) {
  const BatchSizes batch = resolve_batch(config, of.ranks);
  config.train_batch_size = batch.train;
  config.train_micro_batch_size_per_gpu = batch.micro;
  config.gradient_accumulation_steps = 0;
  config.run.output = of.folder;
  config.run.stop_at = 0;
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
    session.on_every_rank(
        [&] { input.settings.locate([&] { leave_steps_alone(of, input.settings.config); }); });
    planned.emplace(context, std::move(input));
    comms = planned->comms;
    build = planned->made;
    context.enter(launch::Milestone::data);
    DataOptions read_by =
        setup::prepare_data(session, {.settings = planned->settings,
                                      .config = planned->config,
                                      .say = [](const std::string&) {},
                                      .hold = [&] { refuse_preparation(of.folder); }});
    sized.emplace(context, std::move(*planned), std::move(read_by));
    opened.emplace(context, *sized, kReadsOnly);
    started.emplace(context, std::move(*sized), *opened);
    live.begin_unseen(context, *started, *opened);
    context.enter(launch::Milestone::steps);
  }

  Context context;
  // As in a run: if making one of them fails, those that peers and lanes may wait for stay.
  std::shared_ptr<const state::Communicators> comms;
  std::shared_ptr<const setup::Build> build;
  std::optional<Planned> planned;
  std::optional<Sized> sized;
  std::optional<Started> started;
  std::optional<Opened> opened;
  Live live;
};

Rerun::Rerun(launch::Session& session, const Order& order, const RerunOf& of)
    : parts_(std::make_unique<Parts>(session, order, of)), done_(parts_->started->done()) {}

Rerun::~Rerun() = default;

kernels::StepReport Rerun::step() {
  const Started& started = *parts_->started;
  launch::Session& session = parts_->context.session;
  state::Engine& engine = *parts_->live.engine;
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
  engine.run(plan::kFinish, inputs);
  const kernels::StepReport report = engine.state().report;
  engine.spikes().hear(report);
  return report;
}

void Rerun::load(const std::string& checkpoint) {
  auto& [context, comms, build, planned, sized, started, opened, live] = *parts_;
  started->config.checkpoint.resume_from = checkpoint;
  opened.emplace(context, *started, kReadsOnly);
  started->start = opened->checkpointer->find_start();
  started->cursor = save::cursor_of(started->start->manifest, started->start->folder());
  opened->checkpointer->load(*started->start, *live.engine);
  done_ = started->done();
}

state::Engine& Rerun::engine() { return *parts_->live.engine; }
const RunConfig& Rerun::config() const { return parts_->started->config; }
const save::Facts& Rerun::saved_facts() const { return parts_->started->start->manifest.facts; }

std::vector<std::string> Rerun::changes(const save::Facts& saved) const {
  save::Start start{.store = nullptr, .manifest = {}};
  start.manifest.facts = saved;
  return parts_->opened->checkpointer->changes(start);
}

std::string Rerun::bytes_note() const {
  return parts_->opened->checkpointer->bytes_note(*parts_->started->start);
}

}  // namespace zero::train
