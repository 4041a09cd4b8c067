#include "zero/train/run.hpp"

#include "src/train/chain.hpp"
#include "zero/launch/stop.hpp"
#include "zero/setup/prepare_data.hpp"

namespace zero::train {
namespace {

/// Returns the outcome if any rank got a signal before the first step. Writes no summary and saves
/// nothing, because the run's state has not changed.
std::optional<Outcome> stopped(Context& context, const RunConfig& config,
                               const Started* started = nullptr, const Opened* opened = nullptr) {
  const int64_t signal = context.session.peers().largest(launch::StopSignal::received());
  if (signal == 0) return {};
  const int64_t done = started ? started->done() : 0;
  Outcome outcome{.steps = done,
                  .saved = done,
                  .stopped_by = launch::StopSignal::name_of(int(signal)),
                  .evaluation = {}};
  const std::string words = ending(config, done, outcome);
  if (opened && opened->folder) tell_launch(*opened->folder, words);
  context.say(words + "\nto go on: the same command\n");
  return outcome;
}

/// Reports that an earlier launch has finished, and removes its error, which no longer holds.
void tell_of_end(Context& context, const Started& started, Opened& opened) {
  const RunConfig& config = started.config;
  context.session.on_every_rank([&] {
    if (opened.folder) opened.folder->forget_error();
  });
  const int64_t done = started.done();
  const bool stops = config.run.stop_at > 0 && config.run.stop_at < config.run.steps;
  const bool waits = done < last_step(config);
  const std::string more = waits   ? text("checkpoint.patience = ", config.checkpoint.patience,
                                          " has ended it: go on with checkpoint.patience=0")
                           : stops ? "is reached: go on with run.stop_at=0"
                                   : text("is reached: train further with run.steps=", 2 * done);
  context.say(text(started.start->folder(), ": step ", done, " of ", config.run.steps,
                   waits ? ", where " : " ", more, ", or begin anew with ",
                   save::to_begin_anew(config), "\n"));
}

Exit status_of(const RunConfig& config, int64_t done, const Outcome& outcome) {
  const std::string& reason = outcome.stopped_by;
  const bool by_user = reason == "SIGINT" || reason == name_of(launch::UserRequest::stop);
  const bool unfinished = !reason.empty() && !by_user;
  if (unfinished && outcome.steps == done) return Exit::kRequeue;
  const bool saved = outcome.saved > 0 && outcome.saved == outcome.steps;
  // No run can go on from weights alone.
  if (config.checkpoint.weights_only) return Exit::kFinished;
  return unfinished && saved ? Exit::kRequeue : Exit::kFinished;
}

/// Returns early if nothing is to be done, or if a signal came before the first step.
Exit make(Context& context, Values& values) {
  Input input(context);
  if (const auto end = stopped(context, input.settings.config)) {
    return status_of(input.settings.config, 0, *end);
  }
  Planned& planned = values.planned.emplace(context, std::move(input));
  values.comms = planned.comms;
  values.build = planned.made;
  if (const auto end = stopped(context, planned.config)) return status_of(planned.config, 0, *end);
  context.enter(launch::Milestone::data);
  std::unique_ptr<RunFolder> folder;
  const auto hold = [&] {
    if (!folder) folder = std::make_unique<RunFolder>(planned.config.run.output);
  };
  DataOptions read_by = setup::prepare_data(
      context.session, {.settings = planned.settings,
                        .config = planned.config,
                        .say = [&](const std::string& words) { context.say(words); },
                        .hold = hold});
  if (const auto end = stopped(context, planned.config)) return status_of(planned.config, 0, *end);
  Sized& sized = values.sized.emplace(context, std::move(planned), std::move(read_by));
  if (const auto end = stopped(context, sized.config)) return status_of(sized.config, 0, *end);
  Opened& opened = values.opened.emplace(context, sized, std::move(folder));
  Started& started = values.started.emplace(context, std::move(sized), opened);
  const RunConfig& config = started.config;
  if (started.has_ended) {
    tell_of_end(context, started, opened);
    return Exit::kFinished;
  }
  const auto stopped_here = [&] { return stopped(context, config, &started, &opened); };
  if (const auto end = stopped_here()) return status_of(config, started.done(), *end);
  Live& live = values.live;
  live.begin(context, started, opened);
  if (const auto end = stopped_here()) return status_of(config, started.done(), *end);
  const Made run{context, started, opened, live};
  introduce(run);
  if (const auto end = stopped_here()) return status_of(config, started.done(), *end);
  const Outcome outcome = train_steps(run);
  finish(run, outcome);
  return status_of(config, started.done(), outcome);
}

}  // namespace

Exit run(launch::Session& session, const Order& order) {
  Exit status = Exit::kFinished;
  // If only this rank sees an error, its peers must not wait. The engine must stay until they know,
  // because its lanes may wait for peers.
  Context context{session, order, launch::Console(session.is_first())};
  Values values;
  session.end_all_on_error([&] { status = make(context, values); });
  return status;
}

}  // namespace zero::train
