#include "zero/monitor/run_log.hpp"

#include <bit>
#include <cmath>
#include <cstdio>

#include "zero/base/path.hpp"
#include "zero/base/text.hpp"

namespace zero::monitor {
namespace {

/// Longer than any line, so that reporting a step allocates nothing.
constexpr size_t kLineBytes = 1024;
/// Bytes of a line of ranks.jsonl at most. An earlier launch may have had more ranks.
constexpr size_t kMostRankBytes = 2 << 20;

/// Appends a JSON number with enough digits to read the same value back.
void append_number(std::string& line, std::string_view name, double value) {
  append(line, std::isfinite(value) ? "\"%.*s\": %.17g, " : "\"%.*s\": null, ", int(name.size()),
         name.data(), value);
}

/// Appends the metrics of a source as JSON.
void append_numbers(std::string& line, const state::Evaluation& evaluation, MetricSource source) {
  for (const auto& [metric, value] : evaluation.metrics) {
    if (metric->source == source) append_number(line, metric->name, value);
  }
}

/// Appends the metrics of a source for people: "  BLEU 23.45  exact match 0.1200".
void append_words(std::string& line, const state::Evaluation& evaluation, MetricSource source) {
  for (const auto& [metric, value] : evaluation.metrics) {
    if (metric->source != source) continue;
    append(line, "  %.*s ", int(metric->words.size()), metric->words.data());
    if (source != MetricSource::loss && std::isnan(value)) {
      line += "undefined";
      continue;
    }
    append(line, source == MetricSource::loss ? "%.*g" : "%.*f", metric->digits, value);
  }
}

}  // namespace

std::string duration_text(double seconds) {
  const long long whole = std::llround(seconds);
  std::string duration;
  if (whole < 60) {
    append(duration, "%lld s", whole);
  } else if (whole < 3600) {
    append(duration, "%lld m %02lld s", whole / 60, whole % 60);
  } else {
    append(duration, "%lld h %02lld m", whole / 3600, whole / 60 % 60);
  }
  return duration;
}

void append_step_line(std::string& line, const StepRecord& record, const LogContext& context,
                      double mean_seconds) {
  const kernels::StepReport& report = record.report;
  append(line, "step %lld/%lld %.1f %%  loss %.4f  norm %.3g  lr %.2e", (long long)report.step,
         (long long)context.steps, 100.0 * double(report.step) / double(context.steps), report.loss,
         report.grad_norm, double(report.learning_rate));
  if (context.shows_scale) append(line, "  scale %g", double(report.loss_scale));
  append(line, "  %.1f ms  %.0f %ss/s", 1e3 * record.seconds, units_per_second(record),
         context.counted_by);
  if (context.peak_flops > 0) {
    append(line, "  %.1f %% of peak", 100 * share_of_peak(record, context));
  }
  if (report.skipped) {
    line += record.rejected ? "  skipped by its audit"
            : report.spike  ? "  skipped as a spike"
                            : "  skipped";
  }
  if (context.synthetic) line += "  synthetic data";
  const double left = double(context.steps - report.step);
  append(line, "  ETA %s\n", duration_text(left * mean_seconds).c_str());
}

void append_metrics_line(std::string& line, const StepRecord& record, const char* counted_by) {
  const kernels::StepReport& report = record.report;
  append(line, "{\"step\": %lld, ", (long long)report.step);
  append_number(line, "loss", report.loss);
  append(line, "\"loss_hex\": \"%016llx\", ",
         (unsigned long long)std::bit_cast<uint64_t>(report.loss));
  append_number(line, "grad_norm", report.grad_norm);
  append_number(line, "lr", report.learning_rate);
  append_number(line, "loss_scale", report.loss_scale);
  append(line,
         "\"skipped\": %s, \"%ss\": %lld, \"%ss_per_s\": %.1f, \"step_ms\": %.3f, "
         "\"exposed_ms\": %.3f",
         record.rejected  ? "true, \"rejected\": true"
         : report.spike   ? "true, \"spike\": true"
         : report.skipped ? "true"
                          : "false",
         counted_by, (long long)record.counted, counted_by, units_per_second(record),
         1e3 * record.seconds, 1e3 * record.exposed_seconds);
  for (run::Phase phase : kShownPhases) {
    append(line, ", \"%s_ms\": %.3f", run::name_of(phase), 1e3 * record.phases[size_t(phase)]);
  }
  if (record.device_bytes_peak >= 0) {
    append(line, ", \"device_bytes_peak\": %lld", (long long)record.device_bytes_peak);
  }
  if (record.node_bytes_sent > 0) {
    append(line, ", \"node_bytes_sent\": %lld", (long long)record.node_bytes_sent);
  }
  line += "}\n";
}

void append_breakdown_line(std::string& line, const Window& window) {
  const double each = 1e3 / double(window.steps);
  line += "    ";
  for (run::Phase phase : kShownPhases) {
    append(line, "%s %.1f ms  ", run::name_of(phase), each * window.phases[size_t(phase)]);
  }
  append(line, "waiting %.1f ms of %.1f ms", each * window.exposed_seconds, each * window.seconds);
  if (window.steps > 1) append(line, "  (mean of %lld steps)", (long long)window.steps);
  line += "\n";
}

void Window::add(const StepRecord& record) {
  ++steps;
  seconds += record.seconds;
  exposed_seconds += record.exposed_seconds;
  for (size_t phase = 0; phase < phases.size(); ++phase) phases[phase] += record.phases[phase];
}

std::string texts_line(const state::Evaluation& evaluation) {
  std::string line;
  append_words(line, evaluation, MetricSource::texts);
  append(line, "  %lld texts", (long long)evaluation.texts);
  return line.substr(2);
}

void append_evaluation(std::string& line, const state::Evaluation& evaluation) {
  append(line, "evaluation after step %lld  loss %.4f", (long long)evaluation.step,
         evaluation.loss);
  for (const MetricSource source : kPlainSources) append_words(line, evaluation, source);
  append(line, "  %lld %ss  %.1f s\n", (long long)evaluation.counted, evaluation.counted_by,
         evaluation.seconds);
  if (evaluation.texts == 0) return;
  append(line, "generated after step %lld  %s  %.1f s\n", (long long)evaluation.step,
         texts_line(evaluation).c_str(), evaluation.texts_seconds);
}

void append_evaluation_line(std::string& line, const state::Evaluation& evaluation) {
  append(line, "{\"step\": %lld, ", (long long)evaluation.step);
  append_number(line, "loss", evaluation.loss);
  append(line, "\"loss_hex\": \"%016llx\", ",
         (unsigned long long)std::bit_cast<uint64_t>(evaluation.loss));
  for (const MetricSource source : kPlainSources) append_numbers(line, evaluation, source);
  append(line, "\"%ss\": %lld, \"seconds\": %.3f", evaluation.counted_by,
         (long long)evaluation.counted, evaluation.seconds);
  if (evaluation.texts > 0) {
    line += ", ";
    append_numbers(line, evaluation, MetricSource::texts);
    append(line, "\"texts\": %lld, \"texts_seconds\": %.3f", (long long)evaluation.texts,
           evaluation.texts_seconds);
  }
  line += "}\n";
}

RunLog::RunLog(launch::Console& console, const std::string& folder, const LogContext& context,
               std::vector<std::unique_ptr<Monitor>> monitors, const RankPlaces& places)
    : console_(console),
      context_(context),
      metrics_(folder, "metrics.jsonl", context.done),
      monitors_(std::move(monitors)) {
  if (context.evaluates) evaluations_.emplace(folder, "evaluations.jsonl", context.done);
  // A launch of one rank adds no line, but cuts those that it takes again.
  if (places.hosts.size() > 1 || is_there(folder + "/ranks.jsonl"))
    rank_lines_.emplace(folder, "ranks.jsonl", context.done, kMostRankBytes);
  if (places.hosts.size() > 1) watch_.emplace(places);
  line_.reserve(kLineBytes + RankWatch::line_bytes(places));
}

void RunLog::ranks(int64_t step, std::span<const launch::Ballot> ranks) {
  if (!watch_) return;
  watch_->add(ranks);
  if (!watch_->news().empty()) std::fputs(watch_->news().c_str(), stderr);
  if (!context_.shows(step)) return;
  line_.clear();
  watch_->append_line(line_, step, ranks);
  rank_lines_->add(line_);
  for (const auto& monitor : monitors_) monitor->ranks(step, watch_->compute_ms());
}

void RunLog::step(const StepRecord& record) {
  seconds_ += record.seconds;
  if (++steps_ == 1) first_seconds_ = record.seconds;
  window_.add(record);
  line_.clear();
  append_metrics_line(line_, record, context_.counted_by);
  metrics_.add(line_);
  if (share_of_peak(record, context_) > 1) withdraw_peak();
  for (const auto& monitor : monitors_) monitor->step(record, context_);
  if (!context_.shows(record.report.step) && !record.report.skipped) return;
  line_.clear();
  append_step_line(line_, record, context_, mean_seconds());
  if (context_.breaks_down) append_breakdown_line(line_, window_);
  window_ = {};
  console_.say(line_);
}

void RunLog::withdraw_peak() {
  context_.peak_flops = 0;
  line_.clear();
  append(line_,
         "steps are faster than the product peak above, which other work on this machine "
         "had slowed; no share of it is shown\n");
  console_.say(line_);
}

void RunLog::evaluation(const state::Evaluation& evaluation) {
  line_.clear();
  append_evaluation(line_, evaluation);
  console_.say(line_);
  for (const auto& monitor : monitors_) monitor->evaluation(evaluation);
  if (!evaluations_ || evaluation.step <= evaluations_->earlier_step()) return;
  line_.clear();
  append_evaluation_line(line_, evaluation);
  evaluations_->add(line_);
}

void RunLog::end(LaunchEnd end) {
  for (const auto& monitor : monitors_) monitor->end(end);
}

double RunLog::mean_seconds() const {
  if (steps_ < 2) return first_seconds_;
  return (seconds_ - first_seconds_) / double(steps_ - 1);
}

}  // namespace zero::monitor
