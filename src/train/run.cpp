#include "zero/train/run.hpp"

#include "src/train/chain.hpp"
#include "zero/launch/stop.hpp"

namespace zero::train {
namespace {

/// Returns the outcome if any rank got a signal before the first step. Writes no summary and saves
/// nothing, because the run's state has not changed.
std::optional<Outcome> stopped(Context& context, const RunConfig& config,
                               const Opened* opened = nullptr) {
  const int64_t signal = context.session.peers().largest(launch::StopSignal::received());
  if (signal == 0) return {};
  const int64_t done = opened ? opened->done() : 0;
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
void tell_of_end(Context& context, const RunConfig& config, Opened& opened) {
  context.session.on_every_rank([&] {
    if (opened.folder) opened.folder->forget_error();
  });
  const int64_t done = opened.done();
  const bool stops = config.run.stop_at > 0 && config.run.stop_at < config.run.steps;
  const bool waits = done < last_step(config);
  const std::string more = waits   ? text("checkpoint.patience = ", config.checkpoint.patience,
                                          " has ended it: go on with checkpoint.patience=0")
                           : stops ? "is reached: go on with run.stop_at=0"
                                   : text("is reached: train further with run.steps=", 2 * done);
  context.say(text(opened.start->folder(), ": step ", done, " of ", config.run.steps,
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

/// The values that a run has made so far.
struct Values {
  std::optional<Planned> planned;
  std::optional<Data> data;
  std::optional<Opened> opened;
  Live live;
};

/// Returns early if nothing is to be done, or if a signal came before the first step.
Exit make(Context& context, Values& values) {
  Input input(context);
  if (const auto end = stopped(context, input.settings.config)) {
    return status_of(input.settings.config, 0, *end);
  }
  Planned& planned = values.planned.emplace(context, std::move(input));
  const RunConfig& config = planned.config;
  if (const auto end = stopped(context, config)) return status_of(config, 0, *end);
  Data& data = values.data.emplace(context, planned);
  if (const auto end = stopped(context, config)) return status_of(config, 0, *end);
  Opened& opened = values.opened.emplace(context, planned, data);
  opened.find_start(context, planned, data);
  if (opened.has_ended(context, planned)) {
    tell_of_end(context, config, opened);
    return Exit::kFinished;
  }
  opened.open_initial_weights(context, planned, data);
  const auto stopped_here = [&] { return stopped(context, config, &opened); };
  if (const auto end = stopped_here()) return status_of(config, opened.done(), *end);
  Live& live = values.live;
  live.begin(context, planned, data, opened);
  if (const auto end = stopped_here()) return status_of(config, opened.done(), *end);
  introduce(context, planned, data, opened, live);
  if (const auto end = stopped_here()) return status_of(config, opened.done(), *end);
  const Outcome outcome = train_steps(context, planned, data, opened, live);
  finish(context, planned, data, opened, live, outcome);
  return status_of(config, opened.done(), outcome);
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
