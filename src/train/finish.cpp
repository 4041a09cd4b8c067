#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "src/commands/train/run.hpp"
#include "src/commands/version.hpp"
#include "zero/advise/product_peak.hpp"
#include "zero/launch/launches.hpp"
#include "zero/launch/stop_signal.hpp"
#include "zero/models/model_export.hpp"
#include "zero/models/sampler.hpp"
#include "zero/state/lane_report.hpp"
#include "zero/train/banner.hpp"
#include "zero/train/disk_report.hpp"
#include "zero/train/region_table.hpp"
#include "zero/train/summary.hpp"
#include "zero/train/trace.hpp"

namespace zero::commands {

train::LogContext Run::log_context(double peak_flops) const {
  const int64_t length = config_.data.sequence_length;
  return {.steps = config_.run.steps,
          .last = last_step(config_),
          .done = done(),
          .flops_per_token = model::flops_per_token(build_.model, length),
          .peak_flops = peak_flops,
          .shows_scale = config_.fp16.enabled,
          .synthetic = data_.synthetic,
          .breaks_down = config_.wall_clock_breakdown,
          .interval = config_.run.log_interval};
}

void Run::introduce() {
  say(train::banner(version(), session_, build_, engine_->backend()));
  say(rates_text_);
  if (session_.is_first() && config_.run.walltime == 0) job_end_ = launch::job_end(std::getenv);
  say(limit_text());
  say(largest_);
  say(homes_);
  say(samples_text_);
  say(advise::memory_table(plan_));
  const double own = [&] {
    const launch::Lookout::Busy measuring(session_.lookout());
    return advise::measure_product_peak(session_.threads(), build_.plan.request.compute);
  }();
  const double peak = session_.peers().sum(own);
  if (peak > 0) say(text("product peak of all ranks ", int64_t(peak / 1e9), " GFLOP/s\n"));
  tell_of_disk(own > 0 ? plan_.forecast.flops / own
                       : plan_.forecast.lane_seconds[size_t(plan::Lane::compute)]);
  session_.together([&] {
    if (folder_) log_.emplace(console_, folder_->path(), log_context(peak));
  });
}

void Run::tell_of_disk(double compute_seconds) {
  if (outlook_.places.empty()) return;
  for (double* rate : {&outlook_.rates.read, &outlook_.rates.write}) {
    *rate = double(session_.peers().smallest(int64_t(*rate)));
  }
  say(advise::outlook_text(outlook_));
  const std::string warning = advise::outlook_warning(outlook_, compute_seconds);
  if (!warning.empty() && session_.is_first()) {
    std::fprintf(stderr, "zeroapp: warning: %s\n", warning.c_str());
  }
}

/// A line of the banner, where there is a limit.
std::string Run::limit_text() const {
  if (config_.run.walltime > 0) {
    return text("time        ", train::duration_text(double(config_.run.walltime)),
                " from the start (run.walltime)\n");
  }
  if (!job_end_) return "";
  return text("time        ", train::duration_text(job_end_->seconds), " until the job ends (",
              job_end_->source, ")\n");
}

/// The ranks vote on it, so that one may know for all.
launch::TimeLimit Run::time_limit() const {
  if (job_end_) return {job_end_->seconds, job_end_->asked};
  return {double(config_.run.walltime), start_};
}

void Run::train_steps() {
  enter(launch::Stage::steps);
  start_seconds_ = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto on_step = [this](const train::StepRecord& record) {
    if (log_) log_->step(record);
    // The second step has touched all that a step touches.
    if (record.report.step == done() + 2) peak_pss_ = train::proportional_set_bytes();
  };
  const auto on_evaluation = [this](const state::Evaluation& evaluation) {
    evaluation_seconds_ += evaluation.seconds;
    if (log_) log_->evaluation(evaluation);
    if (checkpointer_) checkpointer_->note(evaluation);
  };
  outcome_ = train::Trainer({.session = session_,
                             .config = config_,
                             .build = build_,
                             .data = data_,
                             .engine = *engine_,
                             .time_limit = time_limit(),
                             .on_step = on_step,
                             .on_evaluation = on_evaluation,
                             .done = cursor_,
                             .requests = requests_,
                             .saves = saves()})
                 .run();
  peak_pss_ = std::max(peak_pss_, train::proportional_set_bytes());
}

std::optional<train::Trainer::Parts::Saves> Run::saves() {
  if (!checkpointer_) return {};
  const auto committed = [this](bool waits) {
    const int64_t step = checkpointer_->committed(waits);
    if (step > said_committed_) say(text("saved step ", step, "\n"));
    said_committed_ = step;
    return step;
  };
  const auto save = [this, committed](const DataCursor& done) {
    require_same_data();
    checkpointer_->save(done, *engine_);
    committed(false);
  };
  const auto load_best = [this](int64_t last_step) {
    const auto best = checkpointer_->load_best(last_step, *engine_);
    if (best)
      say(text("the best weights are loaded: step ", best->step, ", loss ", best->loss, "\n"));
    return best;
  };
  return {{.save = save, .committed = committed, .load_best = load_best}};
}

void Run::report() {
  enter(launch::Stage::report);
  const std::string summary =
      train::summary_json({.session = session_,
                           .engine = *engine_,
                           .plan = plan_,
                           .outcome = outcome_,
                           .version = version(),
                           .peak_pss_bytes = peak_pss_,
                           .start_seconds = start_seconds_,
                           .train_seconds = log_ ? log_->seconds() : 0,
                           .earlier_seconds = log_ ? log_->earlier_seconds() : 0,
                           .evaluation_seconds = evaluation_seconds_,
                           .done = done(),
                           .hashes_state = config_.run.state_hash});
  if (folder_) write_file("summary.json", summary);
  say(state::lane_table(engine_->lanes()));
  say(train::disk_text(train::disk_report(session_.peers(), *engine_, plan_.forecast),
                       log_ ? log_->seconds() : 0));
  if (config_.evaluation.show_samples > 0 && outcome_.stopped_by.empty()) write_samples();
  if (config_.wall_clock_breakdown) {
    say(train::region_table(engine_->executor().profile(), outcome_.steps));
  }
  if (config_.profile.trace) {
    train::write_trace(config_.run.output + "/trace.json", session_, build_.plan,
                       engine_->executor().trace());
  }
}

/// "finished step 600 of 600"
std::string Run::ending() const {
  const std::string place = text(outcome_.steps, " of ", config_.run.steps);
  if (!outcome_.stopped_by.empty()) {
    const bool may_be_typed =
        outcome_.stopped_by == "SIGTERM" && launch::current_launch().turns_interrupts;
    return text(
        "stopped by ", outcome_.stopped_by,
        may_be_typed ? " (or Ctrl-C, which mpirun turns into it)" : "",
        outcome_.steps > done() ? " after step " + place : text(" before step ", done() + 1));
  }
  return text("finished step ", place, outcome_.steps < config_.run.steps ? " (run.stop_at)" : "");
}

void Run::require_saved() {
  session_.together([&] {
    const int64_t last = outcome_.saved;
    if (!session_.is_first() || !checkpointer_ || last == outcome_.steps) return;
    refuse(Exit::kIo, ending(), ", but ", checkpointer_->last_failure(), "; ",
           last > 0 ? text("step ", last, " was saved last") : "no step is saved",
           " - mend that and start again");
  });
}

void Run::tell_launch() const {
  if (launch::end_launch(folder_->path(), ending())) return;
  std::fputs("zeroapp: warning: launches.jsonl could not be written\n", stderr);
}

void Run::end() {
  enter(launch::Stage::end);
  if (folder_) tell_launch();
  say(text(ending(), "; ", config_.run.output, "/summary.json\n"));
  say(how_to_go_on());
}

/// Of a run that ends before its last step and has saved where it is.
std::string Run::how_to_go_on() const {
  const bool ended = outcome_.steps >= config_.run.steps && outcome_.stopped_by.empty();
  if (ended || outcome_.saved < outcome_.steps || config_.checkpoint.weights_only) return "";
  std::string how = "to go on: the same command";
  if (outcome_.stopped_by.empty()) how += " with run.stop_at=0, or a later step";
  if (config_.checkpoint.resume == Resume::never) {
    const bool typed = input_.origins.at("checkpoint.resume") == "command line";
    how += typed ? ", without checkpoint.resume=never" : ", with checkpoint.resume=auto";
  }
  return how + "\n";
}

/// All is as it was, or as a checkpoint has it: neither a summary nor a save would say more.
bool Run::is_stopped() {
  const int64_t signal = session_.peers().largest(launch::StopSignal::received());
  if (signal == 0) return false;
  outcome_.stopped_by = launch::StopSignal::name_of(int(signal));
  outcome_.steps = outcome_.saved = done();
  if (folder_) tell_launch();
  say(ending() + "\nto go on: the same command\n");
  return true;
}

Exit Run::exit_status() const {
  const std::string& reason = outcome_.stopped_by;
  const bool by_user = reason == "SIGINT" || reason == name_of(launch::Request::stop);
  const bool unfinished = !reason.empty() && !by_user;
  if (unfinished && outcome_.steps == done()) return Exit::kRequeue;
  const bool saved = outcome_.saved > 0 && outcome_.saved == outcome_.steps;
  // From weights alone nothing would go on.
  if (config_.checkpoint.weights_only) return Exit::kFinished;
  return unfinished && saved ? Exit::kRequeue : Exit::kFinished;
}

void Run::write_samples() {
  const launch::Lookout::Busy sampling(session_.lookout());
  const std::string samples = models::sample_text(engine_->view(), session_.peers(), build_.model,
                                                  *sample_tokenizer_, sample_options());
  if (folder_) write_file("sample.txt", samples + "\n");
}

/// Of a finished training: a run that goes on later has not its last weights yet.
void Run::export_model() {
  const std::string folder = config_.run.output + "/model";
  if (!outcome_.stopped_by.empty() || outcome_.steps < config_.run.steps) return;
  if (!exports_model()) {
    const bool saved = outcome_.saved == outcome_.steps;
    if (saved) {
      say(text("for its model: ", line_.program, " export ", config_.run.output, " ", folder,
               "\n"));
    }
    return;
  }
  models::export_model(engine_->view(), session_.peers(), folder,
                       models::describe_model(config_, build_, data_));
  say(text("model in ", folder, "; try: ", line_.program, " generate ", config_.run.output,
           " --prompt \"In the beginning\"\n"));
}

void Run::write_file(const std::string& name, const std::string& content) const {
  launch::write_file(folder_->path() + "/" + name, content);
}

}  // namespace zero::commands
