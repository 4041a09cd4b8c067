#include <algorithm>

#include "src/train/chain.hpp"
#include "src/train/trace.hpp"
#include "zero/base/text.hpp"
#include "zero/config/read_config.hpp"
#include "zero/device/device.hpp"
#include "zero/launch/files.hpp"
#include "zero/train/batch_loader.hpp"

namespace zero::train {
namespace {

void record_launch(const Context& context, const Opened& opened) {
  const launch::Session& session = context.session;
  std::vector<std::string> command = {"zeroapp", context.order.input};
  command.insert(command.end(), context.order.overrides.begin(), context.order.overrides.end());
  launch::begin_launch(opened.folder->path(), {.host = session.host(),
                                               .ranks = session.ranks(),
                                               .threads = session.threads(),
                                               .version = context.order.version,
                                               .command = command,
                                               .resumed_from = opened.done()});
}

std::string going_on_text(const Planned& planned, const Opened& opened) {
  std::string words =
      text("going on from step ", opened.done(), ", ", opened.start->folder(), "\n");
  if (!opened.start->note.empty()) words += opened.start->note + "\n";
  for (const std::string& change : opened.checkpointer->changes(*opened.start)) {
    words += text("changed since: ", change, "\n");
  }
  const std::string bytes = opened.checkpointer->bytes_note(*opened.start);
  if (!bytes.empty()) words += bytes + "\n";
  if (!opened.is_of_this_batch(planned)) {
    words += text("the data go on behind the ", counted(opened.cursor.samples, "sample"),
                  " of its steps\n");
  }
  const std::string& moved_to = opened.folder->moved_to();
  if (!moved_to.empty()) words += text("what the earlier end left moved to ", moved_to, "\n");
  return words;
}

std::string start_text(const Planned& planned, const Opened& opened) {
  if (opened.start) return going_on_text(planned, opened);
  std::string words;
  if (opened.initial) {
    words += text("beginning with the weights of ", opened.initial->path());
    const auto& [family, numbers] = planned.build.recipe.model;
    const auto origin = planned.settings.origins.find("model.dropout");
    if (!family->dropouts.empty()) {
      words += text("; dropout ", numbers.rate("dropout"), ", as ",
                    origin->second.starts_with("derived") ? "it" : "model.dropout", " says");
    }
    words += "\n";
  }
  const std::string& moved_to = opened.folder->moved_to();
  if (moved_to.empty()) return words;
  const std::string& ended = opened.folder->earlier_end();
  const bool unwanted = planned.config.checkpoint.resume == Resume::never;
  return words + text("earlier run here: ", ended, ended.empty() ? "" : ", ",
                      unwanted ? "not to go on" : "no checkpoint to go on from",
                      "; its files moved to ", moved_to, "\n");
}

void introduce_start(Context& context, const Planned& planned, Opened& opened) {
  context.session.on_every_rank([&] {
    if (!opened.folder) return;
    if (opened.start) opened.folder->go_on();
    context.say(start_text(planned, opened));
    const std::string frozen = model::shared_names_text(
        planned.build.recipe.model, planned.config.model.freeze, planned.build.plan.graphs[0]);
    if (!frozen.empty()) context.say(text("frozen      ", frozen, "\n"));
    opened.folder->write("effective.toml", effective_toml(planned.settings));
  });
}

}  // namespace

void Live::begin(Context& context, Planned& planned, Data& data, Opened& opened) {
  context.enter(launch::Milestone::memory);
  begin_launch(context, planned, opened);
  if (!opened.start) introduce_start(context, planned, opened);
  make_engine(context, planned, opened);
  if (opened.start) load_start(context, planned, data, opened);
  load_initial_weights(planned, opened);
  planned.outlook.rates = state::warm_up_disk(*engine, planned.outlook.rates);
  if (!planned.config.run.record) engine->executor().queue_one_by_one();
  if (planned.config.profile.trace) {
    engine->executor().keep_trace(traced_bodies(planned.build.plan));
  }
  if (opened.checkpointer) opened.checkpointer->require_room();
}

/// Removes only the error of an earlier launch until a checkpoint verifies.
void Live::begin_launch(Context& context, const Planned& planned, Opened& opened) {
  std::optional<RunFolder>& folder = opened.folder;
  context.session.on_every_rank([&] {
    if (!folder) return;
    folder->keep();
    if (opened.start) {
      folder->forget_error();
    } else {
      folder->make_way(false);
    }
  });
  context.session.record_failures_in(planned.config.run.output);
  context.session.on_every_rank([&] {
    if (!folder) return;
    requests = launch::UserRequests(folder->path());
    for (const std::string& name : requests.forget()) {
      context.say(text(name, " was for an earlier launch and is removed\n"));
    }
    record_launch(context, opened);
  });
}

void Live::load_start(Context& context, Planned& planned, Data& data, Opened& opened) {
  load_newest_whole(context, planned, data, opened);
  if (opened.start->on_trial) {
    planned.outlook.rates = state::warm_up_disk(*engine, planned.outlook.rates);
    if (is_stuck(context, planned, data, opened)) {
      opened.checkpointer->give_up(*opened.start);
      take_older_start(context, planned, data, opened,
                       text("step ", opened.done(), " lies in a streak that does not end"));
    } else {
      make_engine(context, planned, opened);
    }
    load_newest_whole(context, planned, data, opened);
  }
  introduce_start(context, planned, opened);
}

void Live::load_newest_whole(Context& context, Planned& planned, Data& data, Opened& opened) {
  while (!opened.checkpointer->load(*opened.start, *engine)) {
    take_older_start(context, planned, data, opened,
                     text("step ", opened.done(), " does not verify"));
  }
}

/// True if the first attempt is skipped. Its state is discarded.
bool Live::is_stuck(const Context& context, const Planned& planned, const Data& data,
                    const Opened& opened) {
  const BatchLoader loader{.data = *data.sets.train,
                           .batch = planned.build.batch,
                           .seed = uint64_t(planned.config.run.seed),
                           .done = opened.cursor};
  const int64_t step = opened.done() + 1;
  loader.load(*engine, context.session.rank(), step);
  kernels::StepInputs inputs = loader.inputs(step);
  engine->run(plan::kStep, inputs);
  inputs.pending = 1;
  inputs.pending_step = step;
  inputs.pending_tokens = inputs.counted_tokens;
  engine->run(plan::kFinish, inputs);
  return engine->state().report.skipped != 0;
}

void Live::take_older_start(Context& context, Planned& planned, Data& data, Opened& opened,
                            const std::string& why) {
  opened.find_start(context, planned, data);
  context.session.on_every_rank([&] {
    if (!opened.folder) return;
    tell_launch(*opened.folder, why);
    record_launch(context, opened);
  });
  make_engine(context, planned, opened);
}

void Live::make_engine(Context& context, const Planned& planned, const Opened& opened) {
  const RunConfig& config = planned.config;
  // A plan of large products is slow long before it hangs. The first step on a device also measures
  // algorithms for the other steps.
  const double least = drives_devices() ? 300 : 30;
  const double patience = std::max(least, 20 * planned.report.forecast.step_seconds);
  const double seconds = config.run.watchdog ? double(config.run.watchdog) : patience;
  engine.emplace(
      context.session, planned.comms, planned.build, setup::rules_of(config, planned.rates),
      state::Engine::Options{.seed = uint64_t(config.run.seed),
                             .watchdog_seconds = seconds,
                             .disk = planned.disk,
                             .disk_rates = planned.outlook.rates,
                             .draws_weights = !opened.start,
                             .fast_attention = config.numerics.attention == AttentionOrder::fast});
}

void Live::load_initial_weights(const Planned& planned, Opened& opened) {
  if (!opened.initial) return;
  const int64_t disk_bytes = planned.build.plan.arena_bytes[size_t(plan::Tier::nvme)];
  const int64_t weights =
      model::parameter_count(planned.build.recipe.model) * int64_t(sizeof(float));
  engine->on_every_rank_at_disk("the weights that it begins with", disk_bytes + weights, [&] {
    stored::begin_with_weights(*opened.initial, engine->view());
  });
  opened.initial.reset();
}

}  // namespace zero::train
