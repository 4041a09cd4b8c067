#include <algorithm>
#include <chrono>
#include <cstdio>

#include "src/commands/train/run.hpp"
#include "zero/commands/version.hpp"
#include "zero/train/banner.hpp"
#include "zero/train/launches.hpp"
#include "zero/train/model_export.hpp"
#include "zero/train/product_peak.hpp"
#include "zero/train/region_table.hpp"
#include "zero/train/sampler.hpp"
#include "zero/train/summary.hpp"
#include "zero/train/trace.hpp"

namespace zero::commands {

train::LogContext Run::log_context(double peak_flops) const {
  const int64_t length = config_.data.sequence_length;
  return {.steps = config_.run.steps,
          .last = train::last_step(config_),
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
  say(largest_);
  say(train::memory_table(plan_));
  const double own = train::measure_product_peak(session_.threads(), build_.plan.request.compute);
  const double peak = session_.peers().sum(own);
  if (peak > 0) say(text("product peak of all ranks ", int64_t(peak / 1e9), " GFLOP/s\n"));
  session_.together([&] {
    if (folder_) log_.emplace(console_, folder_->path(), log_context(peak));
  });
}

void Run::train_steps() {
  start_seconds_ = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto on_step = [this](const train::StepRecord& record) {
    if (log_) log_->step(record);
    // The second step has touched all that a step touches.
    if (record.report.step == done() + 2) peak_pss_ = train::proportional_set_bytes();
  };
  const auto on_evaluation = [this](const train::Evaluation& evaluation) {
    evaluation_seconds_ += evaluation.seconds;
    if (log_) log_->evaluation(evaluation);
  };
  std::function<bool(int64_t)> save;
  if (checkpointer_) {
    save = [this](int64_t step) {
      const bool committed = checkpointer_->save(step, *engine_);
      if (committed) say(text("committed step ", step, "\n"));
      return committed;
    };
  }
  outcome_ = train::Trainer({.session = session_,
                             .config = config_,
                             .build = build_,
                             .data = data_,
                             .engine = *engine_,
                             .time_limit = {double(config_.run.walltime), start_},
                             .on_step = on_step,
                             .on_evaluation = on_evaluation,
                             .done = done(),
                             .save = save})
                 .run();
  peak_pss_ = std::max(peak_pss_, train::proportional_set_bytes());
}

void Run::report() {
  const std::string summary = train::summary_json({.session = session_,
                                                   .engine = *engine_,
                                                   .plan = plan_,
                                                   .outcome = outcome_,
                                                   .version = version(),
                                                   .peak_pss_bytes = peak_pss_,
                                                   .start_seconds = start_seconds_,
                                                   .evaluation_seconds = evaluation_seconds_});
  if (folder_) write_file("summary.json", summary);
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
    return text("stopped by ", outcome_.stopped_by, " after step ", place);
  }
  return text("finished step ", place, outcome_.steps < config_.run.steps ? " (run.stop_at)" : "");
}

void Run::end() {
  if (folder_ && !train::end_launch(folder_->path(), ending())) {
    std::fputs("zeroapp: warning: launches.jsonl could not be written\n", stderr);
  }
  say(text(ending(), "; ", config_.run.output, "/summary.json\n"));
}

Exit Run::exit_status() const {
  const bool unfinished = !outcome_.stopped_by.empty() && outcome_.stopped_by != "SIGINT";
  const bool saved = outcome_.saved > 0 && outcome_.saved == outcome_.steps;
  return unfinished && saved ? Exit::kRequeue : Exit::kFinished;
}

void Run::write_samples() {
  const std::string reason = train::why_no_samples(build_.model);
  if (!reason.empty()) return say("no sampled text from this model: " + reason + "\n");
  const std::string samples = train::sample_text(engine_->view(), session_.peers(), build_.model,
                                                 {.samples = config_.evaluation.show_samples,
                                                  .seed = uint64_t(config_.run.seed),
                                                  .threads = session_.threads()});
  if (folder_) write_file("sample.txt", samples + "\n");
}

/// Of a finished training: a run that goes on later has not its last weights yet.
void Run::export_model() {
  const bool wanted =
      config_.export_model.at_end || config_.zero.stage3_gather_16bit_weights_on_model_save;
  if (!wanted || !outcome_.stopped_by.empty() || outcome_.steps < config_.run.steps) return;
  const std::string folder = config_.run.output + "/model";
  train::export_model(engine_->view(), session_.peers(), folder,
                      train::describe_model(config_, build_, data_));
  say(text("model in ", folder, "; try: zeroapp generate ", config_.run.output,
           " --prompt \"In the beginning\"\n"));
}

void Run::write_file(const std::string& name, const std::string& content) const {
  train::write_file(folder_->path() + "/" + name, content);
}

}  // namespace zero::commands
