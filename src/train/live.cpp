#include <algorithm>
#include <cstdlib>
#include <utility>

#include "src/train/chain.hpp"
#include "src/train/trace.hpp"
#include "zero/base/text.hpp"
#include "zero/config/read_config.hpp"
#include "zero/device/device.hpp"
#include "zero/launch/launch_record.hpp"
#include "zero/model/parameter_patterns.hpp"
#include "zero/state/batch_loader.hpp"

namespace zero::train {
namespace {

void record_launch(const Context& context, const Started& started, const Opened& opened) {
  const launch::Session& session = context.session;
  std::vector<std::string> command = {"zeroapp", context.order.input};
  command.insert(command.end(), context.order.overrides.begin(), context.order.overrides.end());
  const char* job = std::getenv("SLURM_JOB_ID");
  launch::begin_launch(opened.folder->path(), {.host = session.host(),
                                               .ranks = session.ranks(),
                                               .threads = session.threads(),
                                               .version = context.order.version,
                                               .command = command,
                                               .resumed_from = started.done(),
                                               .job = job ? job : ""});
}

std::string going_on_text(const Started& started, const Opened& opened) {
  std::string words =
      text("going on from step ", started.done(), ", ", started.start->folder(), "\n");
  if (!started.start->note.empty()) words += started.start->note + "\n";
  for (const std::string& change : opened.checkpointer->changes(*started.start)) {
    words += text("changed since: ", change, "\n");
  }
  const std::string bytes = opened.checkpointer->bytes_note(*started.start);
  if (!bytes.empty()) words += bytes + "\n";
  if (!started.is_of_this_batch()) {
    words += text("the data go on behind the ", counted(started.cursor.samples, "sample"),
                  " of its steps\n");
  }
  const std::string& moved_to = opened.folder->moved_to();
  if (!moved_to.empty()) words += text("what the earlier end left moved to ", moved_to, "\n");
  return words;
}

/// Returns at most five names: "a, b, c, d, e and 7 more".
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::string words;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i)
    words += text(i == 0 ? "" : ", ", names[i]);
  return names.size() <= kShown ? words : text(words, " and ", names.size() - kShown, " more");
}

/// Returns a line on each part of the run or of the stored model that the other one lacks.
std::string apart_text(const stored::StoredModel& initial) {
  const std::vector<std::string>&anew = initial.anew(), &heads = initial.other_heads();
  std::string words;
  if (!anew.empty()) {
    words +=
        text("drawn anew  ", counted(std::ssize(anew), "parameter"), ": ", some_of(anew), "\n");
  }
  if (!heads.empty()) {
    words += text("passed over ", counted(std::ssize(heads), "tensor"),
                  " of other heads: ", some_of(heads), "\n");
  }
  return words;
}

std::string start_text(const Started& started, const Opened& opened) {
  if (started.start) return going_on_text(started, opened);
  std::string words;
  if (started.initial) {
    words += text("beginning with the weights of ", started.initial->weights());
    const auto& [family, numbers] = started.build().recipe.model;
    const auto origin = started.settings.origins.find("model.dropout");
    if (!family->dropouts.empty()) {
      words += text("; dropout ", numbers.rate("dropout"), ", as ",
                    origin->second.starts_with("derived") ? "it" : "model.dropout", " says");
    }
    words += "\n" + apart_text(*started.initial);
  }
  const std::string& moved_to = opened.folder->moved_to();
  if (moved_to.empty()) return words;
  const std::string& ended = opened.folder->earlier_end();
  const bool unwanted = started.config.checkpoint.resume == Resume::never;
  return words + text("earlier run here: ", ended, ended.empty() ? "" : ", ",
                      unwanted ? "not to go on" : "no checkpoint to go on from",
                      "; its files moved to ", moved_to, "\n");
}

void introduce_start(Context& context, const Started& started, Opened& opened) {
  context.session.on_every_rank([&] {
    if (!opened.folder) return;
    if (started.start) opened.folder->go_on();
    context.say(start_text(started, opened));
    const std::string frozen = model::shared_names_text(
        started.build().recipe.model, started.config.model.freeze, started.build().plan.graphs[0]);
    if (!frozen.empty()) context.say(text("frozen      ", frozen, "\n"));
    opened.folder->write("effective.toml", effective_toml(started.settings));
  });
}

}  // namespace

void Live::begin(Context& context, Started& started, Opened& opened) {
  context.enter(launch::Milestone::memory);
  disk_rates = started.outlook.rates;
  begin_launch(context, started, opened);
  if (!started.start) introduce_start(context, started, opened);
  make_engine(context, started);
  if (started.start) load_start(context, started, opened);
  if (!started.start) load_model(started);
  started.initial.reset();
  disk_rates = state::warm_up_disk(*engine, disk_rates);
  if (!started.config.run.record) engine->executor().queue_one_by_one();
  if (started.config.profile.trace) {
    engine->executor().keep_trace(traced_bodies(started.build().plan));
  }
  if (opened.checkpointer) opened.checkpointer->require_room();
}

void Live::begin_unseen(Context& context, Started& started, Opened& opened) {
  context.enter(launch::Milestone::memory);
  disk_rates = started.outlook.rates;
  make_engine(context, started);
  load_newest_whole(context, started, opened);
  disk_rates = state::warm_up_disk(*engine, disk_rates);
}

/// Removes only the error of an earlier launch until a checkpoint verifies.
void Live::begin_launch(Context& context, const Started& started, Opened& opened) {
  const std::unique_ptr<RunFolder>& folder = opened.folder;
  context.session.on_every_rank([&] {
    if (!folder) return;
    folder->keep();
    if (started.start) {
      folder->forget_error();
    } else {
      folder->make_way(false);
    }
  });
  context.session.record_failures_in(started.config.run.output);
  context.session.on_every_rank([&] {
    if (!folder) return;
    requests = launch::UserRequests(folder->path());
    for (const std::string& name : requests.forget()) {
      context.say(text(name, " was for an earlier launch and is removed\n"));
    }
    record_launch(context, started, opened);
  });
}

void Live::load_start(Context& context, Started& started, Opened& opened) {
  load_newest_whole(context, started, opened);
  if (started.start->on_trial) {
    disk_rates = state::warm_up_disk(*engine, disk_rates);
    if (is_stuck(context, started)) {
      opened.checkpointer->give_up(*started.start);
      take_older_start(context, started, opened,
                       text("step ", started.done(), " lies in a streak that does not end"));
    } else {
      make_engine(context, started);
    }
    load_newest_whole(context, started, opened);
  }
  introduce_start(context, started, opened);
}

void Live::load_newest_whole(Context& context, Started& started, Opened& opened) {
  while (!opened.checkpointer->load(*started.start, *engine)) {
    take_older_start(context, started, opened, text("step ", started.done(), " does not verify"));
  }
  load_model(started);
}

/// True if the first attempt is skipped. Its state is discarded.
bool Live::is_stuck(const Context& context, const Started& started) {
  const state::BatchLoader loader{.data = *started.sets.train,
                                  .batch = started.build().batch,
                                  .seed = uint64_t(started.config.run.seed),
                                  .done = started.cursor};
  const int64_t step = started.done() + 1;
  loader.load(*engine, context.session.rank(), step);
  kernels::StepInputs inputs = loader.inputs(step);
  engine->run(plan::kStep, inputs);
  inputs.pending = 1;
  inputs.pending_step = step;
  inputs.pending_tokens = inputs.counted_tokens;
  engine->run(plan::kFinish, inputs);
  return engine->state().report.skipped != 0;
}

void Live::take_older_start(Context& context, Started& started, Opened& opened,
                            const std::string& why) {
  started = Started::older(context, std::move(started), opened);
  context.session.on_every_rank([&] {
    if (!opened.folder) return;
    tell_launch(*opened.folder, why);
    record_launch(context, started, opened);
  });
  make_engine(context, started);
}

void Live::make_engine(Context& context, const Started& started) {
  const RunConfig& config = started.config;
  // A plan of large products is slow long before it hangs. The first step on a device also measures
  // algorithms for the other steps.
  const double least = drives_devices() ? 300 : 30;
  const double patience =
      std::max(least, state::Engine::kPatientSteps * started.report.forecast.step_seconds);
  const double seconds = config.run.watchdog ? double(config.run.watchdog) : patience;
  engine.emplace(
      context.session, *started.comms, started.build(), setup::rules_of(config, started.rates),
      state::Engine::Options{.seed = uint64_t(config.run.seed),
                             .watchdog_seconds = seconds,
                             .watchdog_grows = config.run.watchdog == 0,
                             .disk = started.disk,
                             .disk_rates = disk_rates,
                             .draws_weights = !started.start,
                             .fast_attention = config.numerics.attention == AttentionOrder::fast,
                             .spikes = {.factor = config.numerics.spike_factor,
                                        .most_in_row = config.numerics.max_bad_steps}});
}

/// Loads the weights that no checkpoint holds: all for a new run, borrowed ones for one that goes
/// on.
void Live::load_model(const Started& started) {
  if (!started.initial) return;
  const int64_t disk_bytes = started.build().plan.arena_bytes[size_t(plan::Tier::nvme)];
  const int64_t weights = model::parameter_count(started.build().recipe) * int64_t(sizeof(float));
  engine->on_every_rank_at_disk("the weights that it begins with", disk_bytes + weights, [&] {
    if (started.start) {
      stored::load_lent_weights(*started.initial, engine->view());
    } else {
      stored::begin_with_weights(*started.initial, engine->view());
    }
  });
}

}  // namespace zero::train
