#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "src/train/chain.hpp"
#include "src/train/summary.hpp"
#include "zero/advise/outlook.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/config/schedule.hpp"
#include "zero/device/device.hpp"
#include "zero/monitor/monitor.hpp"
#include "zero/state/text_scorer.hpp"
#include "zero/train/banner.hpp"

namespace zero::train {
namespace {

monitor::LogContext log_context(const Started& started, double peak_flops) {
  const RunConfig& config = started.config;
  const model::Objective& objective = model::objective_for(config);
  const bool is_of_samples = objective.counted_by == kBySample;
  return {.steps = config.run.steps,
          .last = last_step(config),
          .done = started.done(),
          .samples_done = started.cursor.samples,
          .batch = started.build().batch.train,
          .counted_by = objective.counted_by,
          .flops_per_unit = advise::flops_per_token(started.report, config.data.source_length) *
                            double(is_of_samples ? config.data.sequence_length : 1),
          .peak_flops = peak_flops,
          .shows_scale = config.fp16.enabled,
          .synthetic = started.sets.synthetic,
          .breaks_down = config.wall_clock_breakdown,
          .evaluates = started.sets.validation != nullptr,
          .interval = config.run.log_interval};
}

std::vector<std::unique_ptr<monitor::Monitor>> monitors_of(const Started& started,
                                                           const monitor::LogContext& context) {
  const RunConfig& config = started.config;
  std::vector<std::unique_ptr<monitor::Monitor>> monitors;
  if (config.tensorboard.enabled) {
    monitors.push_back(make_tensorboard(config.tensorboard, context,
                                        {.name = config.run.output,
                                         .settings = effective_toml(started.settings),
                                         .written = written_settings(started.settings)}));
  }
  if (config.csv_monitor.enabled)
    monitors.push_back(make_csv_monitor(config.csv_monitor, context, config.run.output));
  if (!config.run.prometheus.empty()) {
    const char* const job = std::getenv("SLURM_JOB_ID");
    monitors.push_back(make_prometheus(
        config.run.prometheus, context,
        {.name = config.run.output, .settings = {}, .written = {}, .job = job ? job : ""}));
  }
  return monitors;
}

void tell_of_disk(Context& context, advise::DiskOutlook outlook, double compute_seconds) {
  if (outlook.folders.empty()) return;
  for (double* rate : {&outlook.rates.read, &outlook.rates.write}) {
    *rate = double(context.session.peers().smallest(int64_t(*rate)));
  }
  context.say(advise::outlook_text(outlook));
  const std::string warning = advise::outlook_warning(outlook, compute_seconds);
  if (!warning.empty()) context.warn(warning);
}

/// Returns the banner's line on the time limit, or "".
std::string limit_text(const RunConfig& config, const std::optional<launch::JobEnd>& job_end) {
  if (config.run.walltime > 0) {
    return text("time        ", monitor::duration_text(double(config.run.walltime)),
                " from the start (run.walltime)\n");
  }
  if (!job_end) return "";
  return text("time        ", monitor::duration_text(job_end->seconds), " until the job ends (",
              job_end->source, ")\n");
}

/// Returns where the ranks are, on every rank. Collective.
monitor::RankPlaces places_of(launch::Session& session) {
  monitor::RankPlaces places;
  places.hosts = session.peers().share(session.host());
  places.devices = session.peers().share(drives_devices() ? text(device_in_use()) : "");
  return places;
}

/// Returns this rank's peak while all ranks measure theirs; 0 if not measured.
double product_peak(const Context& context, const Started& started) {
  const int64_t steps = last_step(started.config) - started.done();
  if (!advise::is_worth_a_product_peak(started.report.forecast.flops * double(steps))) return 0;
  const launch::Lookout::Busy measuring(context.session.lookout());
  return advise::measure_product_peak(context.session.threads(),
                                      started.build().plan.request.compute);
}

/// An observer that writes the log and keeps figures for the summary.
class RunObserver final : public Observer {
 public:
  explicit RunObserver(const Made& run) : run_(run) {}

  void on_step(const monitor::StepRecord& record) override {
    if (run_.live.log) run_.live.log->step(record);
    // The second step has touched all memory that a step touches.
    if (record.report.step != run_.started.done() + 2) return;
    run_.live.peak_pss = proportional_set_bytes();
  }

  void on_ranks(int64_t step, std::span<const launch::Ballot> ranks) override {
    if (run_.live.log) run_.live.log->ranks(step, ranks);
  }

  void on_evaluation(const state::Evaluation& evaluation) override {
    run_.live.evaluation_seconds += evaluation.seconds + evaluation.texts_seconds;
    if (run_.live.log) run_.live.log->evaluation(evaluation);
    if (run_.opened.checkpointer) run_.opened.checkpointer->note(evaluation);
  }

 private:
  Made run_;
};

/// A saver that uses the run's checkpointer and reports saves and loads.
class RunSaver final : public Saver {
 public:
  explicit RunSaver(const Made& run) : run_(run) {}

  void save(const DataCursor& done) override {
    run_.started.require_same_data(run_.context, *run_.live.engine);
    run_.opened.checkpointer->save(done, *run_.live.engine);
    committed(false);
  }

  int64_t committed(bool waits) override {
    const int64_t step = run_.opened.checkpointer->committed(waits);
    if (step > said_) run_.context.say(text("saved step ", step, "\n"));
    return said_ = step;
  }

  std::optional<state::Evaluation> load_best(int64_t last_step) override {
    const auto best = run_.opened.checkpointer->load_best(last_step, *run_.live.engine);
    if (best) {
      run_.context.say(text("the best weights are loaded: step ", best->step, ", loss ", best->loss,
                            best->texts > 0 ? ", " + monitor::texts_line(*best) : "", "\n"));
    }
    return best;
  }

  bool is_out_of_patience() const override {
    return run_.opened.checkpointer->is_out_of_patience();
  }

 private:
  Made run_;
  int64_t said_ = 0;  ///< last step reported as saved
};

/// Takes digests of the state and writes them on the first rank.
class DigestTaker {
 public:
  explicit DigestTaker(const Made& run)
      : run_(run), digests_(run.started.build().plan, run.context.session.threads()) {}

  void take(int64_t step) {
    state::take_digests(run_.context.session, *run_.live.engine, digests_);
    if (run_.live.digests) run_.live.digests->add(step, run_.started.build().plan, digests_);
  }

 private:
  Made run_;
  state::UnitDigests digests_;
};

/// Answers the validation set after a step and adds the scores. Writes the texts to generated/ of
/// the run's folder.
void answer_texts(const Made& run, state::Evaluation& evaluation) {
  const Answers answers = answer({.session = run.context.session,
                                  .engine = *run.live.engine,
                                  .config = run.started.config,
                                  .build = run.started.build(),
                                  .validation = *run.started.sets.validation,
                                  .tokenizer = *run.started.answer_tokenizer,
                                  .samples = run.started.config.evaluation.generate_samples});
  // A full disk costs no training, as with log lines.
  try {
    if (run.opened.folder) {
      run.opened.folder->write_generated(format("step%08lld.txt", (long long)evaluation.step),
                                         answers.texts);
      run.opened.folder->write_generated("targets.txt", answers.targets);
    }
  } catch (const Error& error) {
    warn("the texts after step ", evaluation.step, ": ", error.what(), "; training goes on");
  }
  answers.add_to(evaluation, model::objective_for(run.started.config));
}

/// Adds what the weights' scores of texts are worth.
void score_texts(const Made& run, state::Evaluation& evaluation) {
  for (const ScoredSet& set : run.started.scored) {
    const std::vector<model::SampleScore> scores = state::sample_scores(
        run.context.session, *run.live.engine, *set.samples, evaluation.seconds);
    state::add_scores(set, scores, model::objective_for(run.started.config), evaluation);
  }
}

/// Ranks vote on the time, so one rank may know for all.
launch::TimeLimit time_limit(const Context& context, const RunConfig& config, const Live& live) {
  if (live.job_end) return {live.job_end->seconds, live.job_end->asked};
  return {double(config.run.walltime), context.order.start};
}

}  // namespace

void introduce(const Made& run) {
  const auto& [context, started, opened, live] = run;
  launch::Session& session = context.session;
  const RunConfig& config = started.config;
  context.say(banner(context.order.version, session, started.build(),
                     {live.engine->backend(), started.comms->one_level}));
  context.say(started.rates_text);
  if (session.is_first() && config.run.walltime == 0) live.job_end = launch::job_end(std::getenv);
  context.say(limit_text(config, live.job_end));
  context.say(started.choices);
  context.say(started.samples_text);
  context.say(started.answers_text);
  context.say(advise::memory_table(started.report));
  const double own = product_peak(context, started);
  const double peak = session.peers().sum(own);
  if (peak > 0) context.say(text("product peak of all ranks ", int64_t(peak / 1e9), " GFLOP/s\n"));
  const plan::Forecast& forecast = started.report.forecast;
  advise::DiskOutlook outlook = started.outlook;
  outlook.rates = live.disk_rates;
  tell_of_disk(context, std::move(outlook),
               own > 0 ? forecast.flops / own : forecast.lane_seconds[size_t(plan::Lane::compute)]);
  const monitor::RankPlaces places = places_of(session);
  session.on_every_rank([&] {
    if (!opened.folder) return;
    const monitor::LogContext watched = log_context(started, peak);
    live.log.emplace(context.console, opened.folder->path(), watched, monitors_of(started, watched),
                     places);
    // A file of an earlier launch loses the lines of steps that are run again.
    const std::string& folder = opened.folder->path();
    if (config.run.digest_interval > 0 || is_there(folder + "/" + monitor::kDigestsName))
      live.digests.emplace(folder, started.done());
  });
}

Outcome train_steps(const Made& run) {
  using Clock = launch::TimeLimit::Clock;
  const auto& [context, started, opened, live] = run;
  context.enter(launch::Milestone::steps);
  const RunConfig& config = started.config;
  live.start_seconds = std::chrono::duration<double>(Clock::now() - context.order.start).count();
  RunObserver observer(run);
  RunSaver saver(run);
  Trainer::Parts parts{.session = context.session,
                       .config = config,
                       .build = started.build(),
                       .data = started.sets,
                       .engine = *live.engine,
                       .time_limit = time_limit(context, config, live),
                       .observer = observer,
                       .saver = opened.checkpointer ? &saver : nullptr,
                       .done = started.cursor,
                       .requests = live.requests};
  if (config.evaluation.generate) {
    parts.answers = [&](state::Evaluation& evaluation) { answer_texts(run, evaluation); };
  } else if (config.evaluation.scores_texts()) {  // by models that answer no source
    parts.answers = [&](state::Evaluation& evaluation) { score_texts(run, evaluation); };
  }
  std::optional<DigestTaker> taker;
  if (config.run.digest_interval > 0) {
    taker.emplace(run);
    parts.digests = [&](int64_t step) { taker->take(step); };
  }
  Outcome outcome = Trainer(std::move(parts)).run();
  live.peak_pss = std::max(live.peak_pss, proportional_set_bytes());
  return outcome;
}

}  // namespace zero::train
