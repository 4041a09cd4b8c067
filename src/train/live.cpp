#include <algorithm>

#include "src/train/chain.hpp"
#include "src/train/trace.hpp"
#include "zero/base/text.hpp"
#include "zero/config/effective.hpp"
#include "zero/config/steps.hpp"
#include "zero/device/device.hpp"
#include "zero/launch/files.hpp"
#include "zero/train/batch_loader.hpp"

namespace zero::train {
namespace {

void record_launch(const Ranks& ranks, const Opened& opened) {
  const launch::Session& session = ranks.session;
  std::vector<std::string> command = {"zeroapp", ranks.order.input};
  command.insert(command.end(), ranks.order.overrides.begin(), ranks.order.overrides.end());
  launch::begin_launch(opened.folder->path(), {.host = session.host(),
                                               .ranks = session.ranks(),
                                               .threads = session.threads(),
                                               .version = ranks.order.version,
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
  if (opened.cursor != cursor_before(opened.done() + 1, {}, planned.build.batch.train)) {
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
  if (opened.initial) words += text("beginning with the weights of ", opened.initial->path(), "\n");
  const std::string& moved_to = opened.folder->moved_to();
  if (moved_to.empty()) return words;
  const std::string& ended = opened.folder->earlier_end();
  const bool unwanted = planned.config.checkpoint.resume == Resume::never;
  return words + text("earlier run here: ", ended, ended.empty() ? "" : ", ",
                      unwanted ? "not to go on" : "no checkpoint to go on from",
                      "; its files moved to ", moved_to, "\n");
}

void introduce_start(Ranks& ranks, const Planned& planned, Opened& opened) {
  ranks.session.together([&] {
    if (!opened.folder) return;
    if (opened.start) opened.folder->go_on();
    ranks.say(start_text(planned, opened));
    launch::write_file(opened.folder->path() + "/effective.toml", effective_toml(planned.settings));
  });
}

}  // namespace

void Live::begin(Ranks& ranks, Planned& planned, Data& data, Opened& opened) {
  ranks.enter(launch::Stage::memory);
  begin_launch(ranks, planned, opened);
  if (!opened.start) introduce_start(ranks, planned, opened);
  make_engine(ranks, planned, opened);
  if (opened.start) load_start(ranks, planned, data, opened);
  load_initial_weights(planned, opened);
  planned.outlook.rates = engine->begin_disk();
  if (!planned.config.run.record) engine->executor().queue_one_by_one();
  if (planned.config.profile.trace) {
    engine->executor().keep_trace(traced_bodies(planned.build.plan));
  }
}

/// Of what an earlier launch has left in the folder only its error goes before a checkpoint is
/// found to verify.
void Live::begin_launch(Ranks& ranks, const Planned& planned, Opened& opened) {
  std::optional<RunFolder>& folder = opened.folder;
  ranks.session.together([&] {
    if (!folder) return;
    if (opened.start) {
      folder->forget_error();
    } else {
      folder->make_way(false);
    }
  });
  ranks.session.record_failures_in(planned.config.run.output);
  ranks.session.together([&] {
    if (!folder) return;
    requests = launch::Requests(folder->path());
    for (const std::string& name : requests.forget()) {
      ranks.say(text(name, " was for an earlier launch and is removed\n"));
    }
    record_launch(ranks, opened);
  });
}

void Live::load_start(Ranks& ranks, Planned& planned, Data& data, Opened& opened) {
  load_newest_whole(ranks, planned, data, opened);
  if (opened.start->on_trial) {
    planned.outlook.rates = engine->begin_disk();
    if (is_stuck(ranks, planned, data, opened)) {
      opened.checkpointer->give_up(*opened.start);
      take_older_start(ranks, planned, data, opened,
                       text("step ", opened.done(), " lies in a streak that does not end"));
    } else {
      make_engine(ranks, planned, opened);
    }
    load_newest_whole(ranks, planned, data, opened);
  }
  introduce_start(ranks, planned, opened);
}

void Live::load_newest_whole(Ranks& ranks, Planned& planned, Data& data, Opened& opened) {
  while (!opened.checkpointer->load(*opened.start, *engine)) {
    take_older_start(ranks, planned, data, opened,
                     text("step ", opened.done(), " does not verify"));
  }
}

/// Whether the first attempt is skipped. What it makes of the state is for nobody.
bool Live::is_stuck(const Ranks& ranks, const Planned& planned, const Data& data,
                    const Opened& opened) {
  const BatchLoader loader{.data = *data.sets.train,
                           .batch = planned.build.batch,
                           .seed = uint64_t(planned.config.run.seed),
                           .done = opened.cursor};
  const int64_t step = opened.done() + 1;
  loader.load(*engine, ranks.session.rank(), step);
  kernels::StepInputs inputs = loader.inputs(step);
  engine->run(plan::kStep, inputs);
  inputs.pending = 1;
  inputs.pending_step = step;
  inputs.pending_tokens = inputs.counted_tokens;
  engine->run(plan::kFinish, inputs);
  return engine->state().report.skipped != 0;
}

void Live::take_older_start(Ranks& ranks, Planned& planned, Data& data, Opened& opened,
                            const std::string& why) {
  opened.find_start(ranks, planned, data);
  ranks.session.together([&] {
    if (!opened.folder) return;
    tell_launch(*opened.folder, why);
    record_launch(ranks, opened);
  });
  make_engine(ranks, planned, opened);
}

void Live::make_engine(Ranks& ranks, const Planned& planned, const Opened& opened) {
  const RunConfig& config = planned.config;
  // A plan of large products is slow long before it hangs, and the first step on a device measures
  // what the others use.
  const double least = drives_devices() ? 300 : 30;
  const double patience = std::max(least, 20 * planned.report.forecast.step_seconds);
  const double seconds = config.run.watchdog ? double(config.run.watchdog) : patience;
  engine.emplace(
      ranks.session, planned.build, state::rules_of(config, planned.rates),
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
  const int64_t weights = model::parameter_count(planned.build.model) * int64_t(sizeof(float));
  engine->together_at_disk("the weights that it begins with", disk_bytes + weights,
                           [&] { models::begin_with_weights(*opened.initial, engine->view()); });
  opened.initial.reset();
}

}  // namespace zero::train
